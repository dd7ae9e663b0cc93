// What a command that failed says on standard error: the last complete JSON object there, `{"error": .., "message": ..}`.
// `error` "user" puts the blame on the user's data. Log lines, with braces or without, may stand around it.

export interface ScriptMessage {
  readonly fault: 'user' | 'handler';
  readonly message: string;
}

/** Characters looked at in all: text full of braces that never close must not cost a second of the main thread. */
const BUDGET = 8_000_000;
/** Looked at by itself when the whole was too much. */
const TAIL = 2_000;

/** Undefined when there is no such object, or its fields are no text. */
export function scriptMessage(stderr: string): ScriptMessage | undefined {
  const { object, spent } = lastObject(stderr, BUDGET);
  const found = object ?? (spent ? lastObject(stderr.slice(-TAIL), BUDGET).object : undefined);
  const { error, message } = (found ?? {}) as { error?: unknown; message?: unknown };
  if (typeof error !== 'string' || typeof message !== 'string') return undefined;
  return { fault: error === 'user' ? 'user' : 'handler', message };
}

/** The last object that lies in no other. `spent`: the budget ended first. */
function lastObject(text: string, budget: number): { readonly object: object | undefined; readonly spent: boolean } {
  let object: object | undefined;
  let left = budget;
  for (let start = text.indexOf('{'); start >= 0; ) {
    const end = closing(text, start);
    left -= (end ?? text.length) - start;
    if (left < 0) return { object: undefined, spent: true };
    const parsed = end === undefined ? undefined : objectOf(text.slice(start, end));
    object = parsed ?? object;
    start = text.indexOf('{', parsed && end !== undefined ? end : start + 1);
  }
  return { object, spent: false };
}

/** Just behind the brace that closes the one at `start`. */
function closing(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b) depth++;
    else if (code === 0x7d && --depth === 0) return i + 1;
  }
  return undefined;
}

function objectOf(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
