// npm run update:api-page: fetches the reader of the page at /api, Scalar, in the version named below.
//
// It is one file of the package @scalar/api-reference. The package itself is not a dependency, because it brings 280 others with
// 310 MB, of which the page needs none. To take a newer version: change the two constants, run this, look at the page.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const VERSION = '1.76.0';
/** SHA-512 of the package, as the registry tells it. */
const INTEGRITY = 'sha512-pjqwnzmA9YK3ZX+IZSICMsywm4qI6HLSngR2py9H6TvFApHHuJjkTAd+gFJfnqJDzJuro8k7ji6JCtJ2U+Byng==';

const folder = join(import.meta.dirname, '..', '..', 'http', 'kernel', 'openapi', 'scalar');
const work = await mkdtemp(join(tmpdir(), 'api-page-'));
try {
  const response = await fetch(`https://registry.npmjs.org/@scalar/api-reference/-/api-reference-${VERSION}.tgz`, {
    signal: AbortSignal.timeout(300_000),
  });
  if (!response.ok) throw new Error(`the registry answered ${response.status}`);
  const archive = Buffer.from(await response.arrayBuffer());
  const digest = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  if (digest !== INTEGRITY) throw new Error(`the package has ${digest}, expected ${INTEGRITY}`);
  await writeFile(join(work, 'package.tgz'), archive);
  await promisify(execFile)('tar', ['-xzf', 'package.tgz', 'package/dist/browser/standalone.js'], { cwd: work });
  const script = await readFile(join(work, 'package/dist/browser/standalone.js'));
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 } };
  await writeFile(join(folder, 'scalar.js.br'), await promisify(brotliCompress)(script, options));
  const sha256 = createHash('sha256').update(script).digest('hex');
  const about = { name: '@scalar/api-reference', version: VERSION, license: 'MIT', sha256 };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  console.log(`scalar.js: version ${VERSION}, ${script.length} bytes, sha256 ${sha256}`);
} finally {
  await rm(work, { recursive: true, force: true });
}
