// A mail as it came over the wire, taken apart: its heads, and the texts of its parts.

export interface ReadMail {
  /** In order, unfolded and decoded. */
  readonly heads: readonly (readonly [name: string, value: string])[];
  head(name: string): string | undefined;
  /** By media type; lines end in \n. */
  readonly parts: ReadonlyMap<string, string>;
}

/** @param content head and body as sent, dots doubled as SMTP does */
export function readMail(content: string): ReadMail {
  const { heads, body } = split(content.replaceAll('\r\n..', '\r\n.'));
  const head = (name: string): string | undefined => headOf(heads, name);
  const boundary = /boundary="([^"]+)"/.exec(head('content-type') ?? '')?.[1];
  if (boundary === undefined) throw new Error('the mail has one part only');
  const parts = new Map<string, string>();
  // What stands before the first boundary and after the last is no part.
  for (const piece of `\r\n${body}`.split(`\r\n--${boundary}`).slice(1, -1)) {
    const part = split(piece.replace(/^\r\n/, ''));
    const [type = ''] = headOf(part.heads, 'content-type')?.split(';') ?? [];
    if (parts.has(type)) throw new Error(`two parts are ${type}`);
    parts.set(type, decode(part.body, headOf(part.heads, 'content-transfer-encoding') ?? '7bit'));
  }
  return { heads, head, parts };
}

type Heads = ReadMail['heads'];

const headOf = (heads: Heads, name: string): string | undefined =>
  heads.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];

function split(text: string): { readonly heads: Heads; readonly body: string } {
  const end = text.indexOf('\r\n\r\n');
  const heads = text
    .slice(0, end)
    .replaceAll(/\r\n[ \t]/g, ' ')
    .split('\r\n')
    .map((line) => {
      const [, name = '', value = ''] = /^([\w-]+): ?(.*)$/s.exec(line) ?? [];
      if (name === '') throw new Error(`no head: ${line}`);
      return [name, words(value)] as const;
    });
  return { heads, body: text.slice(end + 4) };
}

/** Encoded words (RFC 2047); the space between two of them is none. */
function words(value: string): string {
  const joined = value.replaceAll(/\?= +=\?/g, '?==?');
  return joined.replaceAll(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi, (_whole, way: string, text: string) =>
    way.toUpperCase() === 'B' ? Buffer.from(text, 'base64').toString() : quotedPrintable(text.replaceAll('_', ' ')),
  );
}

function decode(body: string, encoding: string): string {
  const text =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : encoding === 'quoted-printable'
        ? quotedPrintable(body.replaceAll(/=\r\n/g, ''))
        : Buffer.from(body, 'latin1').toString();
  return text.replaceAll('\r\n', '\n');
}

const quotedPrintable = (text: string): string =>
  Buffer.from(
    text.replaceAll(/=([\dA-F]{2})/gi, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString();
