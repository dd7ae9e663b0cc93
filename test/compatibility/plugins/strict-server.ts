// A plugin server with the strictness of deployed ones, and nothing behind it: it refuses fields of metadata that it does not
// know, reads at most 16 KiB of the details of install-meta, and answers every fault of a request with 500.

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import { writeZip } from '../../../engine/archive/zip-writer.ts';

/** What one read of theirs takes. */
const READ_BYTES = 16 * 1024;
/** Written down from the protocol, not from our client. `[]` is a list of objects. */
const FIELDS = `
type.name type.version installTargets visibility owner name summary description origin created sourceUrl
dependencies[].resourceIdentifier dependencies[].resourceVersion dependencies[].resourceDisplayName
publications[].identifier publications[].type publications[].citation publications[].isPrimary
contacts[].firstName contacts[].middleName contacts[].lastName contacts[].email contacts[].affiliation contacts[].country
contacts[].isPrimary shortAttribution projectName programName linkedDatasets[].datasetUri linkedDatasets[].sharesRecords
experimentalOrganism.species experimentalOrganism.strain hostOrganism.species hostOrganism.strain
datasetCharacteristics.studyDesign datasetCharacteristics.studyType datasetCharacteristics.countries
datasetCharacteristics.years.start datasetCharacteristics.years.end datasetCharacteristics.studySpecies
datasetCharacteristics.outcomes datasetCharacteristics.associatedFactors datasetCharacteristics.participantAges
datasetCharacteristics.sampleTypes externalIdentifiers.dois[].doi externalIdentifiers.dois[].description
externalIdentifiers.hyperlinks[].url externalIdentifiers.hyperlinks[].description externalIdentifiers.bioprojectIds[].id
externalIdentifiers.bioprojectIds[].description funding[].agency funding[].awardNumber revisionHistory.originalId
revisionHistory.revisionHistory[].action revisionHistory.revisionHistory[].timestamp
revisionHistory.revisionHistory[].revisionId revisionHistory.revisionHistory[].revisionNote daysForApproval dataDisclaimer
datasetSources[].url datasetSources[].version`;
const KNOWN: ReadonlySet<string> = new Set(FIELDS.trim().split(/\s+/));
const DETAILS: Readonly<Record<string, readonly string[]>> = {
  '/import': ['event-id', 'vdi-id', 'job-id', 'meta'],
  '/install/data': ['event-id', 'vdi-id', 'install-target'],
  '/install/meta': ['event-id', 'vdi-id', 'install-target', 'meta'],
  '/uninstall': ['event-id', 'vdi-id', 'install-target', 'type'],
};

export interface StrictServer {
  readonly port: number;
  /** Path of each call, with what it was refused for. */
  readonly calls: { readonly path: string; readonly fault: string | undefined; readonly bytes: number }[];
}

export async function strictServer(t: Test): Promise<StrictServer> {
  const calls: StrictServer['calls'] = [];
  const server = createServer((request, response) => void serve(request, response, calls, t.testdirName));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  t.testdir({});
  return { port: (server.address() as AddressInfo).port, calls };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  calls: StrictServer['calls'],
  dir: string,
): Promise<void> {
  const path = request.url ?? '';
  if (request.method === 'GET') {
    response.end('{"manifest":{"gitTag":"v1.8.10"}}');
    return;
  }
  const body = await buffer(request);
  const parts = path === '/uninstall' ? new Map([['details', body]]) : partsOf(body, request.headers['content-type']);
  let fault: string | undefined;
  try {
    checkDetails(path, parts);
  } catch (error) {
    fault = (error as Error).message;
  }
  calls.push({ path, fault, bytes: parts.get('details')?.length ?? 0 });
  if (fault !== undefined) {
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ message: fault }));
  } else if (path === '/import') {
    const zip = `${dir}/reply-${calls.length}.zip`;
    const payload = parts.get('payload') ?? Buffer.alloc(0);
    const manifest = Buffer.from('{"rawUploads":[],"installReady":[{"name":"genes.txt","size":1}]}');
    const documents = { 'vdi-manifest.json': manifest, 'warnings.json': Buffer.from('{"isValid":true}') };
    const sources = Object.entries({ ...documents, 'data.zip': payload }).map(([name, content]) => ({
      path: name,
      size: content.length,
      body: content,
    }));
    await writeZip(zip, sources, { level: 0 }, new AbortController().signal);
    response.writeHead(200, { 'content-type': 'application/zip' }).end(await readFile(zip));
  } else response.end(path === '/install/data' ? '{"isValid":true}' : '');
}

function checkDetails(path: string, parts: ReadonlyMap<string, Buffer>): void {
  const details = parse(parts.get('details'), path === '/install/meta' ? READ_BYTES : Number.MAX_SAFE_INTEGER);
  const allowed = DETAILS[path];
  if (!allowed) throw new Error(`no call ${path}`);
  for (const name of Object.keys(details)) if (!allowed.includes(name)) throw new Error(`unknown property ${name}`);
  const meta = path === '/install/data' ? parse(parts.get('meta')) : details.meta;
  if (meta !== undefined) checkFields(meta, '');
}

function parse(bytes: Buffer | undefined, most = Number.MAX_SAFE_INTEGER): Readonly<Record<string, unknown>> {
  if (!bytes) throw new Error('a part is missing');
  return JSON.parse(bytes.subarray(0, most).toString());
}

function checkFields(value: unknown, at: string): void {
  if (value === null) throw new Error(`${at} is null`);
  if (Array.isArray(value) && value.every((item) => typeof item === 'object')) {
    for (const item of value) checkFields(item, `${at}[]`);
  } else if (typeof value === 'object' && !Array.isArray(value)) {
    for (const [name, of] of Object.entries(value)) checkFields(of, at === '' ? name : `${at}.${name}`);
  } else if (!KNOWN.has(at)) throw new Error(`unknown property ${at}`);
}

/** The parts of a multipart body, in the order sent. */
function partsOf(body: Buffer, contentType = ''): ReadonlyMap<string, Buffer> {
  const boundary = /boundary="?([^";]+)/.exec(contentType)?.[1] ?? '';
  const parts = new Map<string, Buffer>();
  let from = body.indexOf(`--${boundary}`);
  for (;;) {
    const head = body.indexOf('\r\n\r\n', from);
    const next = body.indexOf(`\r\n--${boundary}`, from + 2);
    if (head < 0 || next < 0) return parts;
    const name = /name="([^"]*)"/.exec(body.toString('latin1', from, head))?.[1] ?? '';
    parts.set(name, body.subarray(head + 4, next));
    from = next + 2;
  }
}
