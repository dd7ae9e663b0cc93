// Requests that are like one that the client library composed and signed, but for their query and their time. The client
// takes a quarter of a millisecond for each, for what is the same in all of them, and a full listing has thousands; here
// it is looked at once, and the day's key is kept. Signature Version 4:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

import { createHmac, hash } from 'node:crypto';
import type { RequestOptions } from 'node:http';

const ALGORITHM = 'AWS4-HMAC-SHA256';
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(.+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), /;

export class S3Signature {
  readonly #options: RequestOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secretKey: string;
  readonly #resource: string;
  readonly #accessKey: string;
  readonly #region: string;
  readonly #service: string;
  readonly #signed: readonly string[];
  #day = '';
  #key: Buffer = Buffer.alloc(0);

  private constructor(options: RequestOptions, headers: Record<string, string>, secretKey: string, parts: string[]) {
    this.#options = options;
    this.#headers = headers;
    this.#secretKey = secretKey;
    this.#resource = String(options.path).split('?')[0] as string;
    const [accessKey = '', , region = '', service = '', signed = ''] = parts;
    this.#accessKey = accessKey;
    this.#region = region;
    this.#service = service;
    this.#signed = signed.split(';');
  }

  /**
   * Undefined when the request is not signed as expected.
   * @param options of a request without a body, as the client gave them to its transport
   */
  static like(options: RequestOptions, secretKey: string): S3Signature | undefined {
    const headers = { ...options.headers } as Record<string, string>;
    const parts = AUTHORIZATION.exec(String(headers.authorization));
    return parts ? new S3Signature(options, headers, secretKey, parts.slice(1)) : undefined;
  }

  /** @param query encoded; each of its parts has a `=` */
  options(query: string, at: Date): RequestOptions {
    const time = at.toISOString().replace(/[-:]|\.\d{3}/g, '');
    const headers: Record<string, string> = { ...this.#headers, 'x-amz-date': time };
    headers.authorization = this.#authorization(query, headers, time);
    return { ...this.#options, path: `${this.#resource}?${query}`, headers };
  }

  #authorization(query: string, headers: Readonly<Record<string, string>>, time: string): string {
    const signed = this.#signed.join(';');
    const lines = this.#signed.map((name) => `${name}:${headers[name]?.replace(/ +/g, ' ')}\n`).join('');
    const sorted = query.split('&').sort().join('&');
    const request = `${this.#options.method}\n${this.#resource}\n${sorted}\n${lines}\n${signed}\n${headers['x-amz-content-sha256']}`;
    const scope = `${time.slice(0, 8)}/${this.#region}/${this.#service}/aws4_request`;
    const text = `${ALGORITHM}\n${time}\n${scope}\n${hash('sha256', request)}`;
    const signature = hmac(this.#keyOf(time.slice(0, 8)), text).toString('hex');
    return `${ALGORITHM} Credential=${this.#accessKey}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
  }

  #keyOf(day: string): Buffer {
    if (day !== this.#day) {
      const parts = [day, this.#region, this.#service, 'aws4_request'];
      this.#key = parts.reduce(hmac, Buffer.from(`AWS4${this.#secretKey}`));
      this.#day = day;
    }
    return this.#key;
  }
}

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
