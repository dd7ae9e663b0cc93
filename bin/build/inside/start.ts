// The main script of the single executable. Node.js keeps the source of that script in memory, so it is not the program itself:
// the process that spawns scripts would have those 10 MB too, and each fork would copy their page tables.

import { getRawAsset } from 'node:sea';
import { SPAWN_SCRIPTS } from '../../../engine/runtime/program-files.ts';
import { compileProgram } from './compile-program.ts';

if (process.argv[2] === SPAWN_SCRIPTS) void import('../../spawn-scripts.ts');
else {
  const source = Buffer.from(getRawAsset('longshore.cjs')).toString('latin1');
  const cachedData = Buffer.from(getRawAsset('longshore.code'));
  compileProgram(source, { cachedData })(exports, require, module, __filename, __dirname);
}
