// node compile.ts SOURCE OUT: compiles the bundled program, so that the executable does not have to at each start.

import { readFile, writeFile } from 'node:fs/promises';
import { compileProgram } from './inside/compile-program.ts';

const [source = '', out = ''] = process.argv.slice(2);
const { cachedData } = compileProgram(await readFile(source, 'latin1'), { produceCachedData: true });
if (!cachedData) throw new Error(`V8 did not compile ${source}`);
await writeFile(out, cachedData);
