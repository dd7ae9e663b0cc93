// Flow: branches, awaits, calls and what is returned.

import type { Node } from 'oxc-parser';
import { isLogCall } from './left-alone.ts';
import type { Change, Mutator } from './mutators.ts';
import { type Place, textOf } from './syntax.ts';

export const FLOW_MUTATORS: Readonly<Record<string, Mutator>> = {
  branch: (node) => (node.type === 'IfStatement' ? [...emptied(node), ...withoutElse(node)] : []),
  await: (node, place) =>
    node.type === 'AwaitExpression' && !isHandedOn(place)
      ? [
          {
            start: node.start,
            end: node.end,
            after: place.source.slice(node.start + 'await'.length, node.end).trimStart(),
          },
        ]
      : [],
  call: (node) => (isCall(node) ? [{ start: node.start, end: node.end, after: ';' }] : []),
  return: (node, place) => (node.type === 'ReturnStatement' && node.argument ? returned(node.argument, place) : []),
};

/** `return await x`: whoever called waits for it as well, unless something here goes on after it. */
function isHandedOn({ above }: Place): boolean {
  const around = above.slice(above.findLastIndex(isFunction));
  const holders = around.filter((node) => !node.type.startsWith('TS'));
  const last = holders.at(-1);
  if (last?.type !== 'ReturnStatement' && last?.type !== 'ArrowFunctionExpression') return false;
  return !holders.some((node) => node.type === 'TryStatement' || (node.type === 'BlockStatement' && closes(node.body)));
}

const isFunction = (node: Node): boolean => 'params' in node && 'body' in node;

const closes = (body: readonly Node[]): boolean =>
  body.some((node) => node.type === 'VariableDeclaration' && node.kind.endsWith('using'));

function emptied({ consequent }: Extract<Node, { type: 'IfStatement' }>): readonly Change[] {
  const body = consequent.type === 'BlockStatement' ? consequent.body : [consequent];
  const [only] = body;
  // A lone call has a mutator of its own; what is only logged is left alone.
  if (only === undefined || body.every(isLogged) || (body.length === 1 && isCall(only))) return [];
  return [{ start: consequent.start, end: consequent.end, after: '{}', runsAt: consequent.start }];
}

function withoutElse({ consequent, alternate }: Extract<Node, { type: 'IfStatement' }>): readonly Change[] {
  if (!alternate || isLogged(alternate)) return [];
  return [{ start: consequent.end, end: alternate.end, after: '', runsAt: alternate.start }];
}

/** A statement that is a call and nothing else; a constructor cannot do without `super`. */
function isCall(node: Node): boolean {
  if (node.type !== 'ExpressionStatement') return false;
  const called = bare(node.expression);
  return called.type === 'CallExpression' && called.callee.type !== 'Super' && !isLogCall(called);
}

const isLogged = (node: Node): boolean => node.type === 'ExpressionStatement' && isLogCall(bare(node.expression));

function bare(node: Node): Node {
  if (node.type === 'AwaitExpression') return bare(node.argument);
  if (node.type === 'UnaryExpression' && node.operator === 'void') return bare(node.argument);
  return node.type === 'ChainExpression' ? bare(node.expression) : node;
}

/** What is said to be true or false is said to be either; of all else nothing is returned. */
function returned(argument: Node, { source, node, above }: Place): readonly Change[] {
  const text = textOf(source, argument);
  // A constant has a mutator of its own.
  if (['true', 'false', 'undefined'].includes(text)) return [];
  const values = isBoolean(argument) || givesBoolean(source, above) ? ['true', 'false'] : ['undefined'];
  return values.map((after) => ({ start: argument.start, end: argument.end, after, runsAt: node.start }));
}

function isBoolean(node: Node): boolean {
  if (node.type === 'BinaryExpression') return /^([!=<>]=?|[!=]==|in|instanceof)$/.test(node.operator);
  return node.type === 'UnaryExpression' && node.operator === '!';
}

/** The declared type of the function around it: `boolean`, a promise of it, or a type guard. */
function givesBoolean(source: string, above: readonly Node[]): boolean {
  const around = above.findLast(isFunction);
  if (!around || !('returnType' in around) || !around.returnType) return false;
  return /^:\s*(Promise<)?boolean\b|\bis\b/.test(textOf(source, around.returnType));
}
