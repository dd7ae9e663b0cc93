// Constants: numbers, truth values, compared texts and patterns, defaults.

import type { Node } from 'oxc-parser';
import type { Change, Mutator } from './mutators.ts';
import { type Place, textOf } from './syntax.ts';

/** Calls that compare their argument with something. */
const COMPARING = new Set(['startsWith', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'has']);
/** One more or less of so many bytes or rows is no difference in what the program does. */
const TUNED_FROM = 1_000;
/** Nor is a millisecond. */
const DURATION = /(Ms|_MS)$/;

type Literal = Extract<Node, { type: 'Literal' }>;

export const CONSTANT_MUTATORS: Readonly<Record<string, Mutator>> = {
  integer: (node, place) => {
    if (node.type !== 'Literal' || typeof node.value !== 'number' || isKey(node, place)) return [];
    if (!Number.isSafeInteger(node.value) || isTuned(node.value, place)) return [];
    return [{ start: node.start, end: node.end, after: String(node.value + 1) }];
  },
  boolean: (node) =>
    node.type === 'Literal' && typeof node.value === 'boolean'
      ? [{ start: node.start, end: node.end, after: String(!node.value) }]
      : [],
  string: (node, place) => {
    if (node.type !== 'Literal' || typeof node.value !== 'string' || !isCompared(node, place)) return [];
    return [{ start: node.start, end: node.end, after: node.value === '' ? "'~'" : "''" }];
  },
  regexp: (node) => (node.type === 'Literal' && 'regex' in node ? patterns(node) : []),
  default: (node, { source }) =>
    node.type === 'AssignmentPattern' ? [{ start: node.start, end: node.end, after: textOf(source, node.left) }] : [],
};

function isKey(node: Node, { above }: Place): boolean {
  const parent = above.at(-1);
  return parent !== undefined && 'key' in parent && parent.key === node && !('computed' in parent && parent.computed);
}

function isTuned(value: number, { above }: Place): boolean {
  if (value >= TUNED_FROM && (value % 100 === 0 || Number.isInteger(Math.log2(value)))) return true;
  const parent = above.at(-1);
  if (parent?.type === 'VariableDeclarator') return isDuration(parent.id);
  if (parent?.type === 'AssignmentPattern') return isDuration(parent.left);
  return (parent?.type === 'Property' || parent?.type === 'PropertyDefinition') && isDuration(parent.key);
}

const isDuration = (node: Node): boolean =>
  (node.type === 'Identifier' || node.type === 'PrivateIdentifier') && DURATION.test(node.name);

/** Where the text decides something. Any other text is shown, stored or handed on. */
function isCompared(node: Node, { above }: Place): boolean {
  const [holder, parent] = above.slice(-2);
  switch (parent?.type) {
    case 'BinaryExpression':
      return /^[!=]==?$/.test(parent.operator);
    case 'SwitchCase':
      return parent.test === node;
    case 'CallExpression':
      return parent.callee.type === 'MemberExpression' && isComparing(parent.callee);
    case 'ArrayExpression':
      return holder?.type === 'MemberExpression' && isComparing(holder);
    default:
      return false;
  }
}

function isComparing(callee: Extract<Node, { type: 'MemberExpression' }>): boolean {
  return callee.property.type === 'Identifier' && COMPARING.has(callee.property.name);
}

/** Anchors and the flag `i` go, `+` becomes `*` and the other way round; one change each. */
function patterns(node: Literal): readonly Change[] {
  if (!('regex' in node)) return [];
  const { pattern, flags } = node.regex;
  const start = node.start + 1;
  const changes = bareSigns(pattern).map(([at, sign]) => ({
    ...{ start: start + at, end: start + at + 1 },
    after: { '+': '*', '*': '+' }[sign] ?? '',
  }));
  const flag = flags.indexOf('i');
  const flagAt = start + pattern.length + 1 + flag;
  const all = flag < 0 ? changes : [...changes, { start: flagAt, end: flagAt + 1, after: '' }];
  // The whole literal is what a report shows.
  const text = (change: Change): string => {
    const raw = `/${pattern}/${flags}`;
    return raw.slice(0, change.start - node.start) + change.after + raw.slice(change.end - node.start);
  };
  return all.map((change) => ({ start: node.start, end: node.end, after: text(change) }));
}

/** `^`, `$`, `+` and `*` that are neither escaped nor in a class of characters. */
function bareSigns(pattern: string): readonly (readonly [number, string])[] {
  const found: (readonly [number, string])[] = [];
  let inClass = false;
  for (let i = 0; i < pattern.length; i++) {
    const sign = pattern[i] ?? '';
    if (sign === '\\') i++;
    else if (sign === '[') inClass = true;
    else if (sign === ']') inClass = false;
    else if (!inClass && '^$+*'.includes(sign)) found.push([i, sign]);
  }
  return found;
}
