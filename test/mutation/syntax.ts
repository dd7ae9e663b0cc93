// The syntax tree of a TypeScript source, walked from the outside in. Types are no part of the walk: nothing of them runs.

import { type Node, type ParserOptions, parseSync, visitorKeys } from 'oxc-parser';

export interface Place {
  readonly source: string;
  readonly node: Node;
  /** From the program down to the node's parent. */
  readonly above: readonly Node[];
}

/** What stands in types but holds an expression. */
const WRAPPED = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSInstantiationExpression',
]);

/** Parentheses are no nodes: what is looked for is found in them and without them. */
const OPTIONS: ParserOptions = { lang: 'ts', sourceType: 'module', preserveParens: false };

export function parse(file: string, source: string): Node {
  const { program, errors } = parseSync(file, source, OPTIONS);
  const [first] = errors;
  if (first) throw new SyntaxError(`${file}: ${first.message}`);
  return program;
}

export const parses = (source: string): boolean => parseSync('source.ts', source, OPTIONS).errors.length === 0;

/** Visits each node that runs; where `enters` says no, nothing below is visited. */
export function walk(program: Node, source: string, enters: (place: Place) => boolean): void {
  const above: Node[] = [];
  const visit = (node: Node): void => {
    if (node.type.startsWith('TS') && !WRAPPED.has(node.type)) return;
    if (!enters({ source, node, above })) return;
    above.push(node);
    for (const child of childrenOf(node)) visit(child);
    above.pop();
  };
  visit(program);
}

export function childrenOf(node: Node): readonly Node[] {
  const fields = node as unknown as Readonly<Record<string, unknown>>;
  return (visitorKeys[node.type] ?? []).flatMap((key) => [fields[key]].flat()).filter(isNode);
}

export const textOf = (source: string, node: { readonly start: number; readonly end: number }): string =>
  source.slice(node.start, node.end);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
