// Expands placeholders in scalars after YAML parsing, and hides secrets in what we print.
//   ${env:NAME}   ${env:NAME:-default}   ${file:PATH}   $${env:NAME} stands for the text ${env:NAME}
// Other text in ${..} is a fault, because somebody expects it to be replaced: with `password: ${DB_PASSWORD}`, the password would
// be the name of a variable. Only text that a shell may read keeps it (`x-shell`). A scalar that is exactly one placeholder gets the type that the schema requires there.

import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { decodeUtf8 } from '../engine/model/utf8.ts';
import { unreadable } from './named-files.ts';
import { isMap, type Path, pointerOf, valueAt } from './path.ts';
import { childOf, nodeAt, type SchemaNode, takesType } from './schema-node.ts';
import type { Finding } from './validate.ts';

interface Expansion {
  readonly document: unknown;
  readonly findings: readonly Finding[];
  /** By JSON pointer: the placeholder that a value came from, without its default. */
  readonly origins: ReadonlyMap<string, string>;
}

interface ExpansionSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder where relative paths of `${file:..}` start. */
  readonly dir: string;
}

const HIDDEN = '[hidden]';

const MAX_FILE_BYTES = 65_536;
const PLACEHOLDER = /(\$?)\$\{([^}]{0,4096})\}/g;
const SCHEME = /^([a-z]+):([\s\S]*)$/;
/** What people write for a value from elsewhere; `${2,3}` is not. */
const NAME_LIKE = /^\s*[A-Za-z_]/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const UNTERMINATED = /\$\{(?:env|file):[^}]*$/;
const ENV_BODY = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;
/** Keys of open maps that contain secrets although no schema marks them. */
const SECRET_NAME = /password|passphrase|secret|token|credential|api_?key/i;

export async function expand(document: unknown, schema: SchemaNode, sources: ExpansionSources): Promise<Expansion> {
  const findings: Finding[] = [];
  const origins = new Map<string, string>();

  const visit = async (value: unknown, path: Path): Promise<unknown> => {
    if (typeof value === 'string') return scalar(value, path);
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const [i, item] of value.entries()) items.push(await visit(item, [...path, i]));
      return items;
    }
    if (!isMap(value)) return value;
    const result: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) result[key] = await visit(item, [...path, key]);
    return result;
  };

  const scalar = async (text: string, path: Path): Promise<unknown> => {
    if (!text.includes('${')) return text;
    const node = nodeAt(schema, document, path);
    const keepsBraces = node === undefined || node['x-shell'] === true;
    const matches = [...text.matchAll(PLACEHOLDER)];
    const names: string[] = [];
    let result = '';
    let end = 0;
    for (const match of matches) {
      const [whole, escaped, inside = ''] = match;
      const [, scheme, body = ''] = SCHEME.exec(inside) ?? [];
      if (scheme === undefined && (keepsBraces || !NAME_LIKE.test(inside))) continue;
      result += text.slice(end, match.index);
      end = match.index + whole.length;
      if (escaped) {
        result += whole.slice(1);
        continue;
      }
      if (scheme === undefined) {
        findings.push({ path, ...withoutSource(inside, whole === text) });
        names.push('a placeholder');
        continue;
      }
      names.push(shownName(scheme, body));
      const outcome = await lookUp(scheme, body, sources);
      if ('fault' in outcome) findings.push({ path, ...outcome.fault });
      else result += outcome.text;
    }
    const rest = text.slice(end);
    if (UNTERMINATED.test(rest)) {
      findings.push({ path, found: 'a placeholder without its closing }', allowed: ALLOWED });
      names.push('a placeholder');
    }
    if (names.length === 0) return result + rest;
    origins.set(pointerOf(path), names.join(' and '));
    const sole = matches.length === 1 && matches[0]?.[0] === text;
    return sole && !wantsText(node) ? retyped(result) : result + rest;
  };

  return { document: await visit(document, []), findings, origins };
}

const ALLOWED = `\${env:NAME}, \${env:NAME:-default} or \${file:PATH}`;

/**
 * Shows what is inside only if it is the whole value and the name of a variable. Otherwise it may be a part of a password.
 * @param isWhole whether the value is nothing else
 */
function withoutSource(inside: string, isWhole: boolean): Pick<Finding, 'found' | 'allowed'> {
  const name = isWhole && VARIABLE.test(inside) ? inside : undefined;
  return {
    found: `\${${name ?? '..'}}, which does not say where the value comes from`,
    allowed: `\${env:${name ?? 'NAME'}} for an environment variable, \${file:PATH} for a file, $\${${name ?? '..'}} for this text`,
  };
}

/** The placeholder without its default. A default may be a secret, and so may text that only looks like a placeholder. */
function shownName(scheme: string, body: string): string {
  const name = scheme === 'env' ? ENV_BODY.exec(body)?.[1] : scheme === 'file' ? body : undefined;
  return `\${${scheme}:${name ?? '..'}}`;
}

type Outcome = { readonly text: string } | { readonly fault: Pick<Finding, 'found' | 'allowed'> };

async function lookUp(scheme: string, body: string, { env, dir }: ExpansionSources): Promise<Outcome> {
  const shown = shownName(scheme, body);
  if (scheme === 'file') return fileText(resolve(dir, body), shown);
  const [, name, fallback] = (scheme === 'env' && ENV_BODY.exec(body)) || [];
  if (name === undefined) return { fault: { found: `the malformed placeholder ${shown}`, allowed: ALLOWED } };
  const value = env[name];
  if (fallback !== undefined) return { text: value === undefined || value === '' ? fallback : value };
  if (value !== undefined) return { text: value };
  return {
    fault: {
      found: `${shown}, and ${name} is not set`,
      allowed: `a variable that is set, or \${env:${name}:-default}`,
    },
  };
}

async function fileText(path: string, shown: string): Promise<Outcome> {
  try {
    await using file = await open(path);
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(MAX_FILE_BYTES + 1) });
    if (bytesRead > MAX_FILE_BYTES)
      return {
        fault: {
          found: `${shown}, a file of more than ${MAX_FILE_BYTES} bytes`,
          allowed: `at most ${MAX_FILE_BYTES} bytes`,
        },
      };
    // Editors and `echo` add a newline at the end, which is not part of the secret.
    const text = decodeUtf8(buffer.subarray(0, bytesRead));
    if (text === undefined) return { fault: { found: `${shown}, which is not UTF-8`, allowed: 'text in UTF-8' } };
    return { text: text.replace(/\r?\n$/, '') };
  } catch (error) {
    return {
      fault: {
        found: `${shown}, ${unreadable(error)}`,
        allowed: "the path of a readable file; a relative path starts at this file's folder",
      },
    };
  }
}

const wantsText = (node: SchemaNode | undefined): boolean => node !== undefined && takesType(node, 'string');

/** The value that YAML reads from the plain scalar. */
function retyped(text: string): unknown {
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if (/^(?:null|~)?$/i.test(text)) return null;
  return /^[-+]?\d{1,15}(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

/** A copy with every secret replaced by `[hidden]`. */
export function hideSecrets(schema: SchemaNode, document: unknown): unknown {
  return hide(schema, document, false);
}

function hide(schema: SchemaNode | undefined, value: unknown, byName: boolean): unknown {
  if (value === undefined || value === null) return value;
  if (schema?.writeOnly || byName) return HIDDEN;
  if (Array.isArray(value)) return value.map((item, i) => hide(schema && childOf(schema, value, i), item, false));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const child = schema && childOf(schema, value, key);
      return [key, hide(child, item, !child && typeof item === 'string' && SECRET_NAME.test(key))];
    }),
  );
}

/** True when a secret is written in the file itself instead of a placeholder. */
export function holdsLiteralSecret(
  schema: SchemaNode | undefined,
  value: unknown,
  origins: ReadonlyMap<string, string>,
  path: Path = [],
): boolean {
  if (!schema) return false;
  if (schema.writeOnly) return value !== undefined && !origins.has(pointerOf(path));
  const steps = Array.isArray(value) ? [...value.keys()] : isMap(value) ? Object.keys(value) : [];
  return steps.some((step) =>
    holdsLiteralSecret(childOf(schema, value, step), valueAt(value, [step]), origins, [...path, step]),
  );
}

/** The values that {@link hideSecrets} hides. */
export function secretsIn(schema: SchemaNode | undefined, value: unknown, byName = false): readonly string[] {
  if (schema?.writeOnly || byName) return textsOf(value);
  if (Array.isArray(value)) return value.flatMap((item, i) => secretsIn(schema && childOf(schema, value, i), item));
  if (!isMap(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const child = schema && childOf(schema, value, key);
    return secretsIn(child, item, !child && typeof item === 'string' && SECRET_NAME.test(key));
  });
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isMap(value) ? Object.values(value).flatMap(textsOf) : [];
}
