// Feeds a request to the multipart parser and passes its parts to the handler, one at a time.
//   chunks   are read as long as the parser has room and no part waits behind the current one
//   a fault  of the parser, the request, a handler or the signal ends the reading, once the current handler has ended

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Dicer } from '@fastify/busboy';
import { defect, messageOf } from '../../../engine/runtime/failure.ts';
import { badRequest, HttpError } from '../pipeline/errors.ts';
import { readBytes } from './body.ts';
import { BodyDigests, checkedPart } from './body-digests.ts';
import type { MultipartLimits, MultipartPart } from './multipart.ts';
import { type PartHeaders, readPartHead } from './part-head.ts';

const NAME_BYTES = 128;
/** More than any file system accepts. The handler decides which names are valid. */
const FILE_NAME_BYTES = 1024;

interface ArrivedPart {
  readonly name: string;
  readonly fileName: string | undefined;
  readonly contentType: string;
  readonly body: Readable;
  readonly headers: PartHeaders;
}

/** Reads one body. `run` may be called once. */
export class MultipartReading {
  readonly #request: IncomingMessage;
  readonly #parser: Dicer;
  readonly #boundary: string;
  readonly #limits: MultipartLimits;
  readonly #onPart: (part: MultipartPart) => Promise<void>;
  readonly #outcome = Promise.withResolvers<void>();
  readonly #waiting: ArrivedPart[] = [];
  #current: ArrivedPart | undefined;
  #latest = '';
  #parserHasRoom = true;
  #parts = 0;
  /** True while the headers of the latest part are incomplete. */
  #headOpen = false;
  #parserDone = false;
  #requestDone = false;
  #fault: unknown;

  constructor(
    request: IncomingMessage,
    parser: Dicer,
    boundary: string,
    limits: MultipartLimits,
    onPart: (part: MultipartPart) => Promise<void>,
  ) {
    this.#request = request;
    this.#parser = parser;
    this.#boundary = boundary;
    this.#limits = limits;
    this.#onPart = onPart;
  }

  async run(signal: AbortSignal): Promise<void> {
    const request = this.#request;
    const closing = new ClosingDelimiter(this.#boundary);
    const behind = new PartOutside();
    const digests = BodyDigests.of(request.headers);
    const onData = (chunk: Buffer): void => {
      digests?.update(chunk);
      if (behind.holds(closing.behind(chunk)))
        this.#fail(this.#malformed('behind its closing delimiter is another part'));
      else this.#feed(chunk);
    };
    const onEnd = (): void => {
      try {
        digests?.demand();
      } catch (error) {
        this.#fail(error);
      }
      this.#requestDone = true;
      this.#parser.end();
      this.#settle();
    };
    const onCut = (): void => {
      if (!request.complete) this.#fail(badRequest(`the body ended before its time${this.#where()}`));
    };
    const onAbort = (): void => this.#fail(signal.reason);
    this.#parser.on('preamble', (preamble) => this.#watchPreamble(preamble));
    this.#parser.on('part', (part) => this.#begin(part));
    this.#parser.on('drain', () => {
      this.#parserHasRoom = true;
      this.#readOn();
    });
    this.#parser.on('error', (error) => this.#fail(this.#malformed(messageOf(error))));
    this.#parser.on('finish', () => {
      this.#parserDone = true;
      if (this.#headOpen) this.#fail(this.#unusable('has headers that do not end with an empty line'));
      this.#settle();
    });
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
    // A request without a body emits no event.
    if (request.readableEnded) onEnd();
    try {
      await this.#outcome.promise;
    } finally {
      request.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Pausing after every chunk would take as long as reading it, so the parser may buffer a bounded number of bytes. */
  #feed(chunk: Buffer): void {
    this.#parserHasRoom = this.#parser.write(chunk);
    if (!this.#mayReadOn) this.#request.pause();
  }

  #readOn(): void {
    if (this.#mayReadOn) this.#request.resume();
  }

  /** False while parts wait behind the current one: nobody reads them, so their buffers would grow without bound. */
  get #mayReadOn(): boolean {
    return this.#parserHasRoom && this.#waiting.length === 0 && this.#fault === undefined;
  }

  /** The format ignores everything before the first delimiter, so a part that a client sends there by mistake would be lost. */
  #watchPreamble(preamble: Readable): void {
    const before = new PartOutside();
    preamble.on('error', () => undefined);
    preamble.on('data', (chunk: Buffer) => {
      if (before.holds(chunk))
        this.#fail(this.#malformed(`before its first delimiter '--${this.#boundary}' is a part`));
    });
  }

  #begin(body: Readable): void {
    // Errors of a part are also reported for the whole body.
    body.on('error', () => undefined);
    if (this.#headOpen) this.#fail(this.#unusable('has headers that do not end with an empty line'));
    this.#headOpen = true;
    if (++this.#parts > this.#limits.parts)
      this.#fail(badRequest(`the body has more than ${this.#limits.parts} parts`));
    body.on('header', (headers: PartHeaders) => {
      this.#headOpen = false;
      const head = readPartHead(headers);
      if ('fault' in head) this.#fail(this.#unusable(head.fault));
      else if (this.#fault === undefined) this.#arrive({ ...head, body, headers });
    });
  }

  #arrive(part: ArrivedPart): void {
    this.#latest = part.name;
    this.#waiting.push(part);
    if (!this.#current) void this.#work();
  }

  async #work(): Promise<void> {
    for (let part = this.#waiting.shift(); part && this.#fault === undefined; part = this.#waiting.shift()) {
      this.#current = part;
      this.#readOn();
      try {
        await this.#handle(part);
      } catch (error) {
        this.#fail(error);
      }
    }
    this.#current = undefined;
    this.#settle();
  }

  async #handle(arrived: ArrivedPart): Promise<void> {
    const part = await this.#open(arrived);
    if (part) await this.#onPart(part);
    const { body } = arrived;
    if (body.destroyed && !body.readableEnded && this.#fault === undefined)
      throw defect(`the body of part '${arrived.name}' was destroyed, so that those behind it cannot be reached`);
    (part?.body ?? body).resume();
  }

  /** Opens a part. Fields are read as a whole first. Undefined for an empty file input. */
  async #open({ name, fileName, contentType, body, headers }: ArrivedPart): Promise<MultipartPart | undefined> {
    const nameBytes = Buffer.byteLength(name);
    if (nameBytes > NAME_BYTES)
      throw badRequest(`a part's name is longer than ${NAME_BYTES} bytes: '${name.slice(0, 60)}...' has ${nameBytes}`);
    const fileNameBytes = Buffer.byteLength(fileName ?? '');
    if (fileNameBytes > FILE_NAME_BYTES)
      throw badRequest(
        `part '${name}': the file name is longer than ${FILE_NAME_BYTES} bytes: '${fileName?.slice(0, 60)}...' has ${fileNameBytes}`,
      );
    if (fileName === '' && (await isEmpty(body))) return undefined;
    const digests = BodyDigests.of(headers, undefined, name);
    if (fileName !== undefined || contentType === 'application/octet-stream')
      return { name, fileName, contentType, body: digests ? checkedPart(body, digests) : body };
    const { fieldBytes } = this.#limits;
    const bytes = await readBytes(body, fieldBytes).catch((error: unknown) => {
      throw error instanceof HttpError ? badRequest(`part '${name}' is longer than ${fieldBytes} bytes`) : error;
    });
    digests?.update(bytes);
    digests?.demand();
    return { name, fileName, contentType, body: Readable.from([bytes], { objectMode: false }) };
  }

  /** Records the first fault, and destroys the bodies with it, so that their readers end. */
  #fail(error: unknown): void {
    if (this.#fault !== undefined) return;
    this.#fault = error ?? defect('a part failed without a reason');
    this.#request.pause();
    const reason = error instanceof Error ? error : undefined;
    for (const part of [...(this.#current ? [this.#current] : []), ...this.#waiting.splice(0)])
      part.body.destroy(reason);
    this.#settle();
  }

  #settle(): void {
    if (this.#current) return;
    if (this.#fault !== undefined) this.#outcome.reject(this.#fault);
    else if (this.#parserDone && this.#requestDone && this.#waiting.length === 0) this.#outcome.resolve();
  }

  #malformed(how: string): HttpError {
    return badRequest(`the multipart body is malformed${this.#where()}: ${how}`);
  }

  #unusable(how: string): HttpError {
    return badRequest(
      `part ${this.#parts} of the body${this.#latest ? ` (behind part '${this.#latest}')` : ''} ${how}`,
    );
  }

  #where(): string {
    return this.#latest ? `, in or after part '${this.#latest}'` : '';
  }
}

/** True when the stream ends before its first byte. */
function isEmpty(body: Readable): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onReadable = (): void => {
      const chunk = body.read();
      if (chunk === null) return;
      body.unshift(chunk);
      done(() => resolve(false));
    };
    const onEnd = (): void => done(() => resolve(true));
    const onClose = (): void => done(() => reject(body.errored ?? defect('the part was destroyed')));
    const done = (settle: () => void): void => {
      body.off('readable', onReadable).off('end', onEnd).off('close', onClose);
      settle();
    };
    body.on('readable', onReadable).on('end', onEnd).on('close', onClose);
  });
}

// Text outside of the delimiters has to be ignored (RFC 2046, 5.1.1). A part there is a mistake, and its sender would believe
// that it was received. This code finds such parts, in chunks of any size.

const DISPOSITION = 'content-disposition:';

/** Finds the head of a part in text that should have none. */
class PartOutside {
  #before = '';

  /** True when the chunk, together with the end of the one before, contains the head of a part. */
  holds(chunk: Buffer): boolean {
    if (chunk.length === 0) return false;
    const text = this.#before + chunk.toString('latin1').toLowerCase();
    this.#before = text.slice(1 - DISPOSITION.length);
    return text.includes(DISPOSITION);
  }
}

const NOTHING = Buffer.alloc(0);

/** Finds the closing delimiter of a body. */
class ClosingDelimiter {
  readonly #delimiter: Buffer;
  /**
   * The last bytes, in which the delimiter may begin. Starts with a line break, because a body may begin with the delimiter.
   */
  #before = Buffer.from('\r\n');
  #found = false;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}--`, 'latin1');
  }

  /** The part of the chunk after the delimiter. */
  behind(chunk: Buffer): Buffer {
    if (this.#found) return chunk;
    const needed = this.#delimiter.length;
    const seam = Buffer.concat([this.#before, chunk.subarray(0, needed - 1)]);
    const inSeam = seam.indexOf(this.#delimiter);
    const at = inSeam === -1 ? chunk.indexOf(this.#delimiter) : inSeam - this.#before.length;
    this.#found = at !== -1 || inSeam !== -1;
    if (this.#found) return chunk.subarray(at + needed);
    this.#before = Buffer.from(chunk.length >= needed - 1 ? chunk.subarray(1 - needed) : seam.subarray(1 - needed));
    return NOTHING;
  }
}
