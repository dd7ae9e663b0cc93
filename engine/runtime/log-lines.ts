// Formats a log line for a person at a terminal, from the JSON line that a file would get:
//   12:34:56.789 WARN  install  job failed  dataset=abc event=7 ms=12
// An error's stack follows, indented. Control characters are escaped, because some logged text comes from strangers, and a
// terminal would interpret them.

const COLOURS: Readonly<Record<string, string>> = { info: '32', warn: '33', error: '31', fatal: '35' };
const PLAIN = /^[\w.:/@+-]+$/;

/** @param json one line, with or without its line feed; returned unchanged when it is not a JSON object */
export function readableLine(json: string, coloured: boolean): string {
  const record = parsed(json);
  if (!record) return json;
  const { time, level, msg, pid: _, actor, lane, err, ...rest } = record;
  const paint = (code: string, text: string): string => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
  const name = String(level).toUpperCase().padEnd(5);
  const fields = Object.entries({ ...rest, ...shortError(err) }).map(([key, value]) => `${key}=${valueText(value)}`);
  const line = [
    paint('2', String(time).slice(11, 23)),
    paint(COLOURS[String(level)] ?? '2', name),
    escaped(String(lane ?? actor ?? '-').padEnd(12)),
    escaped(String(msg)),
    ...(fields.length > 0 ? [paint('2', fields.join(' '))] : []),
  ].join(' ');
  return `${line}\n${stackLines(err)}`;
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const record: unknown = JSON.parse(json);
    return typeof record === 'object' && record !== null ? (record as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** For an error with a stack, the line has only its kind, because the stack repeats its message. */
function shortError(err: unknown): { readonly err?: unknown } {
  if (err === undefined) return {};
  return typeof err === 'object' && err !== null && 'stack' in err ? {} : { err };
}

function stackLines(err: unknown): string {
  if (typeof err !== 'object' || err === null || !('stack' in err)) return '';
  const lines = String(err.stack).split('\n');
  return lines.map((line) => `    ${escaped(line.trim())}\n`).join('');
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && PLAIN.test(value)) return value;
  return escaped(JSON.stringify(value) ?? 'undefined');
}

const escaped = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (sign) => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
