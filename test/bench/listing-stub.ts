// An S3 store in a process of its own whose bucket holds million-objects.ts, so many as its first argument says: lists
// them in pages, the way AWS writes them, and gives any object asked for. Listens on a port of 127.0.0.1 that it sends to
// its parent. The work of a page is a copy and a few digits: what is measured is who reads it.
//   node listing-stub.ts OBJECTS EACH [LEFT_OUT]     EACH objects of every dataset; without those of the dataset LEFT_OUT

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { etagOf, keyOf, metadataOf, modifiedOf, ownerNumberOf, ownerOf, sizeOf } from './million-objects.ts';

const PAGE = 1_000;
const [objects = 0, each = 1, leftOut = Number.NaN] = process.argv.slice(2).map(Number);

const entry = (n: number, key = keyOf(n)): string =>
  `<Contents><Key>${key}</Key><LastModified>${new Date(modifiedOf(ofDataset(n))).toISOString()}</LastModified>` +
  `<ETag>&quot;${etagOf(ofDataset(n))}&quot;</ETag><Size>${sizeOf(n)}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
/** Whose version all objects of a dataset have. */
function ofDataset(n: number): number {
  return Math.floor(n / each);
}
const WIDTH = entry(0).length;
/** Numbers of the objects in a page that begins with the object `first`. */
function numbersFrom(first: number): number[] {
  const numbers = [];
  for (let n = first; n < objects && numbers.length < PAGE; n++) if (ofDataset(n) !== leftOut) numbers.push(n);
  return numbers;
}

/** Entries of a full page, whose digits are written anew for each. */
const template = Buffer.from(Array.from({ length: PAGE }, (_, n) => entry(n)).join(''), 'latin1');
const places = {
  owner: entry(0).indexOf(ownerOf(0)),
  number: entry(0).indexOf('/vdi-meta') - 11,
  time: entry(0).indexOf('<LastModified>') + '<LastModified>'.length,
  etag: entry(0).indexOf('&quot;</ETag>') - 10,
  size: entry(0).indexOf('<Size>') + '<Size>'.length,
};

function entries(numbers: readonly number[]): Buffer {
  if (each > 1) return Buffer.from(numbers.map((n) => entry(n, keyOf(n, each))).join(''));
  const page = Buffer.from(template.subarray(0, numbers.length * WIDTH));
  let at = 0;
  for (const n of numbers) {
    digits(page, at + places.owner, 7, ownerNumberOf(n));
    digits(page, at + places.number, 11, n);
    time(page, at + places.time, modifiedOf(n));
    digits(page, at + places.etag, 10, n);
    digits(page, at + places.size, 4, sizeOf(n));
    at += WIDTH;
  }
  return page;
}

/** Of each day so far: year, month and day as one number. */
const dates = new Map<number, number>();

/** Of `2026-01-02T03:04:05.000Z`, what is no digit is there already, and so are the last zeros. */
function time(page: Buffer, at: number, ms: number): void {
  const day = Math.floor(ms / 86_400_000);
  const date = dates.get(day) ?? Number(new Date(ms).toISOString().slice(0, 10).replaceAll('-', ''));
  dates.set(day, date);
  digits(page, at, 4, Math.floor(date / 10_000));
  digits(page, at + 5, 2, Math.floor(date / 100) % 100);
  digits(page, at + 8, 2, date % 100);
  const second = Math.floor(ms / 1_000) % 86_400;
  digits(page, at + 11, 2, Math.floor(second / 3_600));
  digits(page, at + 14, 2, Math.floor(second / 60) % 60);
  digits(page, at + 17, 2, second % 60);
}

function digits(page: Buffer, at: number, length: number, value: number): void {
  let rest = value;
  for (let place = at + length - 1; place >= at; place--) {
    // As an integer, which is a tenth of the work.
    const tenth = (rest / 10) | 0;
    page[place] = 48 + rest - 10 * tenth;
    rest = tenth;
  }
}

function list(query: URLSearchParams, response: ServerResponse): void {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? query.get('start-after');
  const numbers = prefix === '' ? numbersFrom(after === null ? 0 : numberOf(after) + 1) : numbersBelow(prefix);
  const isTruncated = prefix === '' && (numbers.at(-1) ?? objects) < objects - 1;
  const next = isTruncated
    ? `<NextContinuationToken>${keyOf(numbers.at(-1) as number, each)}</NextContinuationToken>`
    : '';
  const head =
    `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
    `<Name>bucket</Name><Prefix>${prefix}</Prefix><KeyCount>${numbers.length}</KeyCount><MaxKeys>${PAGE}</MaxKeys>` +
    `<EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${next}`;
  const body = entries(numbers);
  const tail = '</ListBucketResult>';
  response.writeHead(200, {
    'content-type': 'application/xml',
    'content-length': head.length + body.length + tail.length,
  });
  response.cork();
  response.write(head);
  response.write(body);
  response.end(tail);
}

function numbersBelow(prefix: string): number[] {
  const n = numberOf(prefix);
  return n < objects && ofDataset(n) !== leftOut ? [n] : [];
}

/** Of a key; of the last object of a dataset where a prefix or its metadata are named. NaN where no dataset is. */
function numberOf(key: string): number {
  const [, dataset, place] = /bench(\d{11})(?:\/raw\/(\d{8}))?/.exec(key) ?? [];
  return Number(dataset) * each + (place === undefined ? each - 1 : Number(place));
}

function object(key: string, request: IncomingMessage, response: ServerResponse): void {
  const n = numberOf(key);
  if (!(n < objects) || ofDataset(n) === leftOut)
    return void response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
  const metadata = metadataOf(ofDataset(n));
  response.writeHead(200, {
    etag: `"${etagOf(ofDataset(n))}"`,
    'last-modified': new Date(modifiedOf(ofDataset(n))).toUTCString(),
    'content-length': metadata.length,
  });
  response.end(request.method === 'HEAD' ? undefined : metadata);
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stub');
  const key = decodeURIComponent(pathname.slice('/bucket/'.length));
  if (key === '') list(searchParams, response);
  else object(key, request, response);
}).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
