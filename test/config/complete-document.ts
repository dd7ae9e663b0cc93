// The fixtures as complete documents, to be changed at one place and checked.

import { join } from 'node:path';
import { loadConfiguration } from '../../config/load.ts';

export const FIXTURES = join(import.meta.dirname, 'fixtures');

export const SECRETS = {
  ADMIN_TOKEN: 'planted-admin-token-0123456789abcdef',
  SITE_DB_PASSWORD: 'planted-site-password',
  CACHE_DB_PASSWORD: 'planted-cache-password',
  STORE_ACCESS_TOKEN: 'planted-access-token',
  STORE_SECRET_KEY: 'planted-secret-key',
  QUEUE_PASSWORD: 'planted-queue-password',
  HANDLER_TOKEN: 'planted-handler-token',
  SMTP_PASSWORD: 'planted-smtp-password',
} as const;

export type Document = Record<string, unknown>;

export async function completeDocument(fixture: 'contract-form' | 'embedded-form'): Promise<Document> {
  const result = await loadConfiguration(join(FIXTURES, `${fixture}.yaml`), { env: SECRETS });
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return result.document;
}

/** A copy with the value at a dotted path replaced; undefined removes it. `*` is the first key or item. */
export function changed(document: Document, path: string, value: unknown): Document {
  const copy = structuredClone(document);
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let at: Document = copy;
  for (const step of steps) {
    const key = step === '*' ? (Object.keys(at)[0] ?? '') : step;
    at[key] ??= {};
    at = at[key] as Document;
  }
  const key = last === '*' ? (Object.keys(at)[0] ?? '0') : last;
  if (value === undefined) delete at[key];
  else at[key] = value;
  return copy;
}
