import t from 'tap';
import { IMPORT_BODY } from '../../../http/plugin-host/documents.ts';
import { parseImport } from '../../../http/plugin-host/request-documents.ts';

const text = (jobId: number): string =>
  JSON.stringify({
    ...{ 'vdi-id': 'AbCdEfGhIjKlMnOp', 'job-id': jobId },
    meta: {
      ...{ type: { name: 'genes', version: '1.0' }, installTargets: ['AlphaDB'], visibility: 'private' },
      ...{ owner: 42, origin: 'direct-upload', name: 'A dataset', summary: 'Genes', created: '2026-01-01T00:00:00Z' },
    },
  });

t.test('the documented bounds of job-id are the enforced ones', async (t) => {
  const body = IMPORT_BODY.content['multipart/form-data'];
  t.match(body, { properties: { details: { properties: { 'job-id': { minimum: 0, maximum: 65_535 } } } } });
  for (const jobId of [0, 65_535]) t.equal(parseImport(text(jobId)).jobId, jobId);
  for (const jobId of [-1, 65_536, 0.5])
    t.throws(() => parseImport(text(jobId)), {
      ...{ kind: 'rejected', message: /^'job-id' is .*; it must be a whole number from 0 to 65535$/ },
    });
});
