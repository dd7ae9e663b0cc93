// What a stored metadata document must be like, so that we can work with it. Its texts may be any: only those who send metadata
// to us are told the rules of the contract.

import { Failure } from '../runtime/failure.ts';
import { isObject } from './json.ts';

const LISTS = ['dependencies', 'publications', 'contacts', 'linkedDatasets', 'funding', 'datasetSources'];
const OBJECTS = [
  ...['experimentalOrganism', 'hostOrganism', 'datasetCharacteristics', 'studyCharacteristics'],
  ...['externalIdentifiers', 'revisionHistory'],
];
/** In UTF-16 units, of names that are looked up. The contract allows half of it; indexes of the catalog hold all of it. */
const NAME_LENGTH = 256;

/** Of a value, in a message. */
const SHOWN_LENGTH = 80;

/** A `rejected` failure names the field. Names of older documents are allowed: `projects`, `studyCharacteristics`. */
export function checkShape(document: Readonly<Record<string, unknown>>, where: string): void {
  const { type, installTargets, projects } = document;
  const field = (name: string, isSound: boolean, must: string): void => {
    if (isSound) return;
    const value = JSON.stringify(document[name] ?? null).slice(0, SHOWN_LENGTH);
    throw new Failure('rejected', `${where}: '${name}' must ${must}, but is ${value}`);
  };
  const hasNames = isObject(type) && isName(type.name) && isName(type.version);
  field('type', hasNames, `have a name and a version of at most ${NAME_LENGTH} characters`);
  const targets = installTargets ?? projects;
  const isList = Array.isArray(targets) && targets.every(isName);
  field(
    installTargets === undefined && projects !== undefined ? 'projects' : 'installTargets',
    isList,
    `be a list of names of at most ${NAME_LENGTH} characters`,
  );
  for (const name of ['owner', 'name']) field(name, typeof document[name] === 'string', 'be a text');
  for (const name of LISTS) {
    const { [name]: list = [] } = document;
    field(name, Array.isArray(list) && list.every(isObject), 'be a list of objects');
  }
  for (const name of OBJECTS) field(name, isObject(document[name] ?? {}), 'be an object');
}

const isName = (name: unknown): boolean => typeof name === 'string' && name.length <= NAME_LENGTH;
