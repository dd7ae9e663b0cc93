// Which file loads which: imports that are there at run time, files that are named beside `import.meta`, as the entry of a
// thread is, and the whole program where a test starts it.

import { posix } from 'node:path';
import type { Node } from 'oxc-parser';
import { parse, walk } from './syntax.ts';

/** From each file to what it loads, all as paths from the root. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const PROGRAM = 'bin/longshore.ts';

export function importGraph(files: ReadonlyMap<string, string>): ImportGraph {
  return new Map([...files].map(([file, source]) => [file, loadedBy(file, source, (path) => files.has(path))]));
}

/** All that `file` loads, itself too, with the number of steps to it. */
export function reachedFrom(file: string, graph: ImportGraph): ReadonlyMap<string, number> {
  const steps = new Map([[file, 0]]);
  for (const [from, distance] of steps) {
    for (const to of graph.get(from) ?? []) if (!steps.has(to)) steps.set(to, distance + 1);
  }
  return steps;
}

function loadedBy(file: string, source: string, exists: (path: string) => boolean): readonly string[] {
  const found = new Set<string>();
  const add = (...parts: readonly string[]): void => {
    const path = posix.join(posix.dirname(file), ...parts);
    if (exists(path)) found.add(path);
  };
  walk(parse(file, source), source, ({ node }) => {
    const beside = partsBeside(node);
    if (beside) add(...beside);
    if (isErased(node)) return false;
    if (node.type === 'Literal' && typeof node.value === 'string' && /^\.\.?\//.test(node.value)) add(node.value);
    // A test that starts the program (engine/runtime/program-files.ts). The program starts itself by it, too, but not anew.
    if (file.startsWith('test/') && isCallOf(node, 'programArgv') && exists(PROGRAM)) found.add(PROGRAM);
    // A thread that is found from the root of the program (engine/runtime/program-files.ts).
    if (isCallOf(node, 'programThread')) {
      const [path] = node.arguments;
      if (path?.type === 'Literal' && typeof path.value === 'string' && exists(path.value)) found.add(path.value);
    }
    return true;
  });
  return [...found];
}

function isCallOf(node: Node, name: string): node is Extract<Node, { type: 'CallExpression' }> {
  return node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === name;
}

/** `import type` and `export type` load nothing. */
function isErased(node: Node): boolean {
  if (node.type === 'ImportDeclaration') return node.importKind === 'type';
  return (node.type === 'ExportNamedDeclaration' || node.type === 'ExportAllDeclaration') && node.exportKind === 'type';
}

/** `join(import.meta.dirname, '..', 'a.ts')` */
function partsBeside(node: Node): readonly string[] | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const [first, ...rest] = node.arguments;
  if (first?.type !== 'MemberExpression' || first.object.type !== 'MetaProperty') return undefined;
  return rest.flatMap((part) => (part.type === 'Literal' && typeof part.value === 'string' ? [part.value] : []));
}
