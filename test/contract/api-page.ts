// The page at /api: it names the document of its own service, and scripts that the service has.

import type { Test } from 'tap';
import type { ContractClient } from './client.ts';

export async function checkApiPage(t: Test, client: ContractClient): Promise<void> {
  const { status, headers, text } = await client.get('/api');
  t.equal(status, 200);
  t.match(headers.get('content-type'), /^text\/html/);
  t.match(text, 'data-document="/api/openapi.json"');
  const scripts = [...text.matchAll(/<script src="([^"]+)">/g)].map(([, path = '']) => path);
  t.equal(scripts.length, 2);
  for (const path of scripts) {
    const script = await client.get(path);
    t.equal(script.status, 200, path);
    t.match(script.headers.get('content-type'), /^text\/javascript/);
    t.match(script.text, 'createApiReference');
  }
}
