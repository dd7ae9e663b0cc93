// What is not mutated: imports, log calls, and text for people. A test that held these would hold the wording.

import type { Node } from 'oxc-parser';
import type { Place } from './syntax.ts';

const LOG_LEVELS = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
/** Fields of schemas and commands that are text for people, whatever stands in them. */
const TEXT_FIELDS = new Set(['description', 'summary', 'title', 'example', 'examples', 'help', 'docs']);

/** Neither the node nor anything in it is mutated. */
export function isLeftAlone({ node, above }: Place): boolean {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
      return true;
    case 'CallExpression':
      return isLogCall(node);
    case 'PropertyDefinition':
      return node.declare === true;
    case 'Property':
      return !node.computed && node.key.type === 'Identifier' && TEXT_FIELDS.has(node.key.name);
    case 'TemplateLiteral':
      return above.some(isThrown);
    default:
      return false;
  }
}

/** `log.info(..)`, `this.#log.warn(..)`, `options.log.error(..)`. */
export function isLogCall(node: Node): boolean {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
  const { object, property } = node.callee;
  if (property.type !== 'Identifier' || !LOG_LEVELS.has(property.name)) return false;
  const holder = object.type === 'MemberExpression' ? object.property : object;
  return (holder.type === 'Identifier' || holder.type === 'PrivateIdentifier') && /^(log|logger)$/.test(holder.name);
}

/** `throw ..`, `new SomeError(..)`: a template in it is a message. */
function isThrown(node: Node): boolean {
  if (node.type === 'ThrowStatement') return true;
  return node.type === 'NewExpression' && node.callee.type === 'Identifier' && node.callee.name.endsWith('Error');
}
