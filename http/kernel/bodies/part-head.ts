// Parses the headers of a multipart part (RFC 7578) strictly. A header that cannot be parsed is a fault: otherwise the part
// would lose its name or get another one. File names are accepted in all forms that clients send:
// - plain UTF-8, with quotes and line breaks as `%22`, `%0A` and `%0D` (HTML standard) or escaped with a backslash
// - percent-encoded as `filename*` (RFC 8187)
// - an encoded word (RFC 2047)

import { decodeUtf8, foreignNameFault, quoteBytes } from '../../../engine/model/utf8.ts';
import { mediaType } from './body.ts';

interface PartHead {
  readonly name: string;
  /** Undefined when the part is no file. */
  readonly fileName: string | undefined;
  /** Without parameters. */
  readonly contentType: string;
}

/** Header values by lower-case name. The values are bytes as Latin-1. */
export type PartHeaders = Readonly<Record<string, readonly string[]>>;

/** The fault of a head, as a phrase that follows the name of the part. */
interface HeadFault {
  readonly fault: string;
}

const DISPOSITION = 'content-disposition';

export function readPartHead(headers: PartHeaders): PartHead | HeadFault {
  const [disposition, second] = headers[DISPOSITION] ?? [];
  if (disposition === undefined)
    return {
      fault:
        'has no header Content-Disposition: form-data; name="..." that can be read (each header ends with CRLF; ' +
        'at most 32 headers and 16 KiB are read)',
    };
  if (second !== undefined) return { fault: 'has the header Content-Disposition twice' };
  const read = readParameters(disposition);
  if ('fault' in read) return { fault: `has a header Content-Disposition that ${read.fault}` };
  if (read.value.toLowerCase() !== 'form-data')
    return { fault: `has Content-Disposition '${read.value.slice(0, 60)}': expected 'form-data'` };
  const name = textOf(read.parameters, 'name');
  const fileName = textOf(read.parameters, 'filename');
  if (typeof name === 'object') return { fault: `has a name that cannot be used: ${name.fault}` };
  if (typeof fileName === 'object') return { fault: `has a file name that cannot be used: ${fileName.fault}` };
  if (name === undefined || name === '') return { fault: 'has no name' };
  return { name, fileName, contentType: mediaType(headers['content-type']?.[0]) || 'text/plain' };
}

interface Parameters {
  readonly value: string;
  /** Values by lower-case name. The values are bytes as Latin-1. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Parses `VALUE; NAME=TOKEN; NAME="TEXT"`. In a TEXT, a backslash escapes only a quote or a backslash, as in curl. */
export function readParameters(header: string): Parameters | HeadFault {
  const end = header.indexOf(';');
  const value = (end === -1 ? header : header.slice(0, end)).trim();
  const parameters = new Map<string, string>();
  for (let rest = end === -1 ? '' : header.slice(end); rest.trim() !== ''; ) {
    const match = PARAMETER.exec(rest);
    if (!match) return { fault: `is not well-formed at '${rest.trim().slice(0, 60)}'` };
    const [all, key, quoted, token = ''] = match;
    if (key !== undefined) {
      if (parameters.has(key.toLowerCase())) return { fault: `has the parameter '${key}' twice` };
      parameters.set(key.toLowerCase(), quoted?.replace(/\\(["\\])/g, '$1') ?? token.trim());
    }
    rest = rest.slice(all.length);
  }
  return { value, parameters };
}

/** One parameter, up to the next semicolon or the end. It may be empty, because some clients send a trailing semicolon. */
const PARAMETER = /^;[ \t]*(?:([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:\\["\\]|[^"])*)"[ \t]*|([^";]*)))?(?=;|$)/;

/** The parameter as text; undefined when it is absent. If both forms are sent, the encoded one wins (RFC 6266, 4.3). */
function textOf(parameters: ReadonlyMap<string, string>, key: string): string | undefined | HeadFault {
  const extended = parameters.get(`${key}*`);
  if (extended !== undefined) return decodeExtended(extended);
  const plain = parameters.get(key);
  if (plain === undefined) return undefined;
  const bytes = Buffer.from(plain, 'latin1');
  const text = decodeUtf8(bytes);
  if (text === undefined) return { fault: `${quoteBytes(bytes)} ${foreignNameFault(bytes)}` };
  return decodeWord(text) ?? decodeFormEscapes(text);
}

/**
 * Decodes the HTML standard's escapes of the three characters that would end a quoted text. curl, requests and httpx use them,
 * too. They do not escape `%`, so a name that contains `%22` cannot be distinguished from one with a quote.
 */
function decodeFormEscapes(text: string): string {
  return text.replace(/%(?:22|0A|0D)/gi, (escaped) => decodeURIComponent(escaped));
}

/** Decodes `CHARSET'LANGUAGE'PERCENT-ENCODED`. */
function decodeExtended(value: string): string | HeadFault {
  const [, charset, encoded] = /^([\w-]+)'[^']*'(.*)$/s.exec(value) ?? [];
  const fault = { fault: `'${value.slice(0, 60)}' is not encoded as RFC 8187 has it: UTF-8''NAME` };
  if (charset === undefined || encoded === undefined || /%(?![0-9a-f]{2})/i.test(encoded)) return fault;
  const bytes = Buffer.from(
    encoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  return decodeIn(charset, bytes) ?? fault;
}

/** Decodes `=?CHARSET?B or Q?TEXT?=` if it is the whole text. .NET and mail libraries write file names in this form. */
function decodeWord(text: string): string | undefined {
  const [, charset, encoding, encoded] = /^=\?([\w-]+)\?([BbQq])\?([^?]*)\?=$/.exec(text) ?? [];
  if (charset === undefined || encoding === undefined || encoded === undefined) return undefined;
  if (encoding.toUpperCase() === 'B') return decodeIn(charset, Buffer.from(encoded, 'base64'));
  const bytes = encoded
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decodeIn(charset, Buffer.from(bytes, 'latin1'));
}

function decodeIn(charset: string, bytes: Buffer): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
