// Compiles the bundled program of the single executable.

import { compileFunction } from 'node:vm';

/** What Node.js passes to a CommonJS module. */
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'];

/** @param code compiled by an earlier call; if V8 does not accept it, the source is compiled */
export function compileProgram(source: string, code: { cachedData: Buffer } | { produceCachedData: true }) {
  // Named as Node.js names the main script of an executable.
  return compileFunction(source, PARAMETERS, { filename: process.execPath, ...code });
}
