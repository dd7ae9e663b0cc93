// Sends mails over SMTP, one connection per mail.

import { createTransport } from 'nodemailer';
import type { Mail, Mailer } from '../../ports/mail.ts';
import { Failure, messageOf } from '../../runtime/failure.ts';
import { unlessAborted } from '../../runtime/wait.ts';

export interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  /** `starttls` rejects a server that does not support it. */
  readonly security: 'starttls' | 'tls' | 'none';
  readonly tls: { readonly ca?: string; readonly rejectUnauthorized: boolean };
  readonly login: { readonly user: string; readonly pass: string } | undefined;
  /** For connecting, and for each reply. */
  readonly timeoutMs: number;
}

type Transport = ReturnType<typeof createTransport>;
/** The result for a mail that was accepted for at least one recipient. */
interface Outcome {
  readonly rejected: readonly (string | { readonly address: string })[];
}

export class SmtpMailer implements Mailer, Disposable {
  readonly #transport: Transport;
  readonly #where: string;

  constructor({ host, port, security, tls, login, timeoutMs }: SmtpOptions) {
    this.#where = `mail server ${host}:${port}`;
    this.#transport = createTransport({
      host,
      port,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      tls: { minVersion: 'TLSv1.2', ...tls },
      ...(login ? { auth: { ...login } } : {}),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      // Text must never be interpreted as a file or URL to read from.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  async send(mail: Mail, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const { to, cc, replyTo, ...rest } = mail;
    const sending = this.#transport.sendMail({
      ...rest,
      to: [...to],
      cc: [...cc],
      ...(replyTo === undefined ? {} : { replyTo }),
    });
    try {
      const { rejected }: Outcome = await unlessAborted(sending, signal);
      return rejected.map((refused) => (typeof refused === 'string' ? refused : refused.address));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    try {
      await unlessAborted(this.#transport.verify(), signal);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  [Symbol.dispose](): void {
    this.#transport.close();
  }

  /** A rejected sender, recipient or content is about this mail; everything else is about the server. */
  #failure(error: unknown): unknown {
    if (error instanceof Failure) return error;
    const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
    const text = `${this.#where}: ${messageOf(error)}`;
    const aboutMail = code === 'EENVELOPE' || code === 'EMESSAGE';
    if (aboutMail && (responseCode === undefined || Number(responseCode) >= 500))
      return new Failure('rejected', text, { cause: error });
    return new Failure('transient', text, { cause: error, unreachable: !aboutMail });
  }
}
