// The only decoder of text from outside: strict UTF-8. Nothing is replaced; a U+FFFD in the text is kept.

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\ufeff';

/** The text, including a byte order mark, or undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return STRICT.decode(bytes);
  } catch {
    return undefined;
  }
}

/** For documents: drops a byte order mark at the start. */
export function decodeDocument(bytes: Uint8Array): string | undefined {
  const text = decodeUtf8(bytes);
  return text?.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** Bytes for a message: printable ASCII unchanged, everything else as `\xNN`. */
export function shownBytes(bytes: Uint8Array): string {
  let shown = '';
  for (const byte of bytes.subarray(0, MOST_SHOWN))
    shown += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
  return bytes.length > MOST_SHOWN ? `${shown}…` : shown;
}

const MOST_SHOWN = 200;
