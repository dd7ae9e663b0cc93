// Operators: comparisons, logic, arithmetic.

import type { Node } from 'oxc-parser';
import type { Change, Mutator } from './mutators.ts';
import { type Place, textOf } from './syntax.ts';

const BOUNDARY: Swaps = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const OPPOSITE: Swaps = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '==': '!=',
  '!=': '==',
  '===': '!==',
  '!==': '===',
};
const LOGIC: Swaps = { '&&': '||', '||': '&&' };
const ARITHMETIC: Swaps = {
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '**': '*' },
  ...{ '&': '|', '|': '&', '^': '&', '<<': '>>', '>>': '<<', '>>>': '<<' },
};
const ASSIGNED: Swaps = {
  ...{ '+=': '-=', '-=': '+=', '*=': '/=', '/=': '*=', '%=': '*=' },
  ...{ '&=': '|=', '|=': '&=', '^=': '&=', '<<=': '>>=', '>>=': '<<=', '>>>=': '<<=' },
  ...{ '??=': '=', '||=': '=', '&&=': '=' },
};
const COUNTED: Swaps = { '++': '--', '--': '++' };

type Swaps = Readonly<Record<string, string>>;

interface Operation {
  readonly start: number;
  readonly left: Node;
  readonly right: Node;
  readonly operator: string;
}

export const OPERATOR_MUTATORS: Readonly<Record<string, Mutator>> = {
  boundary: (node, place) => (node.type === 'BinaryExpression' ? swapped(node, place, BOUNDARY) : []),
  comparison: (node, place) => (node.type === 'BinaryExpression' ? swapped(node, place, OPPOSITE) : []),
  logic: (node, place) => (node.type === 'LogicalExpression' ? swapped(node, place, LOGIC) : []),
  fallback: (node, place) => (node.type === 'LogicalExpression' && node.operator === '??' ? leftOnly(node, place) : []),
  arithmetic: (node, place) => {
    if (node.type === 'BinaryExpression') return isText(node) ? [] : swapped(node, place, ARITHMETIC);
    if (node.type === 'AssignmentExpression') return isText(node.right) ? [] : swapped(node, place, ASSIGNED);
    if (node.type === 'UpdateExpression') return counted(node);
    if (node.type === 'UnaryExpression' && node.operator === '-') return withoutOperator(node, place);
    return [];
  },
  negation: (node, place) => {
    if (node.type === 'UnaryExpression' && node.operator === '!') return withoutOperator(node, place);
    const { source } = place;
    return conditionOf(node)
      .filter((test) => !hasItsOwn(test))
      .map((test) => ({ start: test.start, end: test.end, after: `!(${textOf(source, test)})` }));
  },
};

function swapped(node: Operation, place: Place, swaps: Swaps): readonly Change[] {
  const after = swaps[node.operator];
  const start = operatorAt(node, place);
  return after === undefined ? [] : [{ start, end: start + node.operator.length, after, runsAt: node.start }];
}

function leftOnly(node: Operation & { readonly end: number }, place: Place): readonly Change[] {
  const { start, end } = node;
  return [{ start, end, after: place.source.slice(start, operatorAt(node, place)).trimEnd() }];
}

/** The first such text after the left side that is not in a comment; a bracket may be closed before. */
function operatorAt({ left, right, operator }: Operation, { source }: Place): number {
  const between = source.slice(left.end, right.start).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, blank);
  return left.end + between.indexOf(operator);
}

const blank = (text: string): string => ' '.repeat(text.length);

function counted(node: Extract<Node, { type: 'UpdateExpression' }>): readonly Change[] {
  const start = node.prefix ? node.start : node.end - 2;
  return [{ start, end: start + 2, after: COUNTED[node.operator] ?? '' }];
}

function withoutOperator(node: Extract<Node, { type: 'UnaryExpression' }>, { source }: Place): readonly Change[] {
  return [{ start: node.start, end: node.end, after: source.slice(node.start + 1, node.end).trimStart() }];
}

function conditionOf(node: Node): readonly Node[] {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
    case 'DoWhileStatement':
      return [node.test];
    case 'ForStatement':
      return node.test ? [node.test] : [];
    default:
      return [];
  }
}

/** Another mutator turns this condition around. */
function hasItsOwn(test: Node): boolean {
  if (test.type === 'BinaryExpression') return test.operator in OPPOSITE;
  return test.type === 'Literal' || (test.type === 'UnaryExpression' && test.operator === '!');
}

/** `'a' + b` puts texts together: there is nothing to calculate. */
function isText(node: Node): boolean {
  if (node.type === 'TemplateLiteral') return true;
  if (node.type === 'Literal') return typeof node.value === 'string';
  return node.type === 'BinaryExpression' && node.operator === '+' && (isText(node.left) || isText(node.right));
}
