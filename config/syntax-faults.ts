// What is wrong with a text that is not YAML. The parser reports follow-up errors and often only the place where it gave up, so
// the cause is searched here: one fault for each cause, at its place. The words never quote the text, which may be a password.

import { Lexer, type YAMLParseError } from 'yaml';

interface SyntaxFault {
  readonly offset: number;
  readonly found: string;
  readonly allowed: string;
}

const DOCUMENT = 'one YAML 1.2 document';
export const COMMENT = { found: 'a comment that begins with //', allowed: '# before a comment' } as const;

/** Errors that do not confuse the parser. If there are no others, each has its own cause. */
const LOCAL: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'a malformed anchor or alias',
  BAD_DQ_ESCAPE: 'an unknown escape inside double quotes (single quotes know no escapes)',
  BAD_SCALAR_START: 'a value that starts with a reserved character (quote it)',
};

const SYNTAX: Readonly<Record<string, string>> = {
  ...LOCAL,
  BAD_INDENT: 'wrong indentation',
  BLOCK_AS_IMPLICIT_KEY: "a second 'key: value' on one line (quote the value if it holds ': ')",
  MISSING_CHAR: 'a missing character, such as a colon, a comma, a bracket or a dash',
  MULTILINE_IMPLICIT_KEY: "a line without 'key: value' (a blank must follow the colon)",
  MULTIPLE_DOCS: 'a second document',
  RESOURCE_EXHAUSTION: 'values nested too deeply',
  TAB_AS_INDENT: 'a tab as indentation',
  UNEXPECTED_TOKEN: 'something unexpected after a value',
};
const ALLOWED: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the same number of spaces before all keys of a map, and before all dashes of a list',
};

const MAX_FAULTS = 20;
const MAX_LINES_NAMED = 5;

/** @param errors in the order of the parser; not empty */
export function syntaxFaults(text: string, errors: readonly YAMLParseError[]): readonly SyntaxFault[] {
  const sorted = errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  const [first] = sorted;
  if (!first) return [];
  if (sorted.every(({ code }) => code in LOCAL)) return sorted.slice(0, MAX_FAULTS).map(plain);
  return [
    indentedWithOther(text, first) ??
      openQuote(text, errors) ??
      comment(text, first) ??
      openBracket(text, first) ??
      tooDeep(text, sorted) ??
      misplaced(text, first),
  ];
}

const plain = ({ code, pos: [offset] }: YAMLParseError): SyntaxFault => ({
  offset,
  found: SYNTAX[code] ?? `text that is not YAML (${code})`,
  allowed: ALLOWED[code] ?? DOCUMENT,
});

function misplaced(text: string, error: YAMLParseError): SyntaxFault {
  const fault = plain(error);
  // The parser reports where the line starts.
  const blanks = /^ */.exec(text.slice(fault.offset))?.[0].length ?? 0;
  return error.code === 'BAD_INDENT' ? { ...fault, offset: fault.offset + blanks } : fault;
}

const lineStart = (text: string, offset: number): number => (offset < 1 ? 0 : text.lastIndexOf('\n', offset - 1) + 1);
function lineAt(text: string, offset: number): string {
  const start = lineStart(text, offset);
  const end = text.indexOf('\n', start);
  return text.slice(start, end === -1 ? undefined : end);
}

/** A tab, or another blank that is no space, before the first character of a line. */
const OTHER_BLANK = /^ *(?=[^\S \r\n])/;

function indentedWithOther(text: string, error: YAMLParseError): SyntaxFault | undefined {
  const line = lineAt(text, error.pos[0]);
  const blanks = OTHER_BLANK.exec(line)?.[0].length;
  if (blanks === undefined) return undefined;
  const kind = line[blanks] === '\t' ? 'a tab' : 'a blank that is not a space';
  const offset = lineStart(text, error.pos[0]) + blanks;
  return {
    offset,
    found: `${kind} as indentation${alsoOn(text, offset, (other) => OTHER_BLANK.test(other) && other.trim() !== '')}`,
    allowed: 'spaces as indentation',
  };
}

/** Names further lines with the same cause. */
function alsoOn(text: string, offset: number, isOne: (line: string) => boolean): string {
  const before = text.slice(0, offset).split('\n').length;
  const lines = text
    .split('\n')
    .slice(before)
    .flatMap((line, i) => (isOne(line) ? [before + i + 1] : []));
  if (lines.length === 0) return '';
  const named = lines.slice(0, MAX_LINES_NAMED).join(', ');
  const more = lines.length > MAX_LINES_NAMED ? ` and ${lines.length - MAX_LINES_NAMED} more` : '';
  return ` (also on line${lines.length === 1 ? '' : 's'} ${named}${more})`;
}

interface Lexeme {
  readonly offset: number;
  readonly source: string;
}

/** The lexer's marks of documents and scalars, which are not in the text. */
const MARKS = new Set(['\u0002', '\u0018', '\u001f']);

function lexemes(text: string): readonly Lexeme[] {
  const found: Lexeme[] = [];
  let offset = 0;
  for (const source of new Lexer().lex(text)) {
    if (MARKS.has(source)) continue;
    found.push({ offset, source });
    offset += source.length;
  }
  return found;
}

/** Text in quotes with its closing quote. */
const CLOSED = /^(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^']|'')*')$/;

/**
 * The parser says that a quote is missing at the last place where one could be. A quote that was left open ends where the next
 * key must be, or at the next quote, and then more text follows.
 */
function openQuote(text: string, errors: readonly YAMLParseError[]): SyntaxFault | undefined {
  if (!errors.some(({ code, message }) => code === 'MISSING_CHAR' && message.endsWith('quote'))) return undefined;
  const open = lexemes(text).find(({ offset, source }) => {
    if (!/^["']/.test(source)) return false;
    const after = text.slice(offset + source.length);
    return !CLOSED.test(source) || (source.includes('\n') && !/^[ \t]*(?:$|[\r\n,\]}:#])/.test(after));
  });
  if (!open) return undefined;
  const kind = open.source.startsWith('"') ? 'double' : 'single';
  return {
    offset: open.offset,
    found: `a ${kind} quote that is not closed`,
    allowed: 'the same quote after the value',
  };
}

/** A comment in the style of another language. */
function comment(text: string, error: YAMLParseError): SyntaxFault | undefined {
  const start = commentLine(text, lineStart(text, error.pos[0]));
  const at = COMMENT_SIGN.exec(lineAt(text, start));
  if (!at) return undefined;
  const sign = at[1] ?? '';
  const isOne = (line: string): boolean => line.trimStart().startsWith(sign);
  const offset = start + at.index + at[0].length - sign.length;
  return {
    offset,
    found: `a comment that begins with ${sign}${alsoOn(text, offset, isOne)}`,
    allowed: COMMENT.allowed,
  };
}

const COMMENT_SIGN = /(?:^|[ \t])(\/\/|\/\*)/;

/** Lines of comments alone are a plain value for the parser, which then complains about what follows them. */
function commentLine(text: string, from: number): number {
  let found = from;
  for (let start = from; start > 0; ) {
    start = lineStart(text, start - 1);
    const line = lineAt(text, start).trim();
    if (/^\/[/*]/.test(line)) found = start;
    else if (line !== '' && !line.startsWith('#')) break;
  }
  return found;
}

function openBracket(text: string, error: YAMLParseError): SyntaxFault | undefined {
  if (!error.message.startsWith('Flow ')) return undefined;
  const open: Lexeme[] = [];
  for (const lexeme of lexemes(text)) {
    if (lexeme.offset >= error.pos[0]) break;
    if (lexeme.source === '[' || lexeme.source === '{') open.push(lexeme);
    else if (lexeme.source === ']' || lexeme.source === '}') open.pop();
  }
  const last = open.at(-1);
  return last && { offset: last.offset, found: `a ${last.source} that is not closed`, allowed: 'its closing bracket' };
}

/** A line below a value that is indented deeper continues the value, so the parser complains about the line above. */
function tooDeep(text: string, [first, second]: readonly YAMLParseError[]): SyntaxFault | undefined {
  if (first?.code !== 'BLOCK_AS_IMPLICIT_KEY' || second?.code !== 'MULTILINE_IMPLICIT_KEY') return undefined;
  const next = text.indexOf('\n', first.pos[0]) + 1;
  const blanks = /^[ \r\n]*/.exec(text.slice(next))?.[0].length ?? 0;
  return {
    offset: next + blanks,
    found: 'wrong indentation: deeper than the line above, which has a value already',
    allowed: ALLOWED.BAD_INDENT ?? DOCUMENT,
  };
}
