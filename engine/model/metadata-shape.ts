// What a stored metadata document must be like, so that we can work with it. Texts may have any content: the rules of the
// contract are enforced only on metadata that clients send us.

import { rejected } from '../runtime/failure.ts';
import { isObject, shown } from './json.ts';

const LISTS = ['dependencies', 'publications', 'contacts', 'linkedDatasets', 'funding', 'datasetSources'];
const OBJECTS = [
  ...['experimentalOrganism', 'hostOrganism', 'datasetCharacteristics', 'studyCharacteristics'],
  ...['externalIdentifiers', 'revisionHistory'],
];
/** In UTF-16 units, of names that are looked up: twice the characters that the contract allows. The catalog's indexes hold them. */
const NAME_LENGTH = 256;

/** A `rejected` failure names the field. Older documents may have `projects`, `studyCharacteristics`, and `revisions`. */
export function checkShape(document: Readonly<Record<string, unknown>>, where: string): void {
  const check = (name: string, value: unknown, isSound: boolean, must: string): void => {
    if (!isSound) throw rejected(`${where}: '${name}' must ${must}, but is ${shown(value)}`);
  };
  const { type, owner, name, installTargets, projects, revisionHistory } = document;
  const hasNames = isObject(type) && isName(type.name) && isName(type.version);
  check('type', type, hasNames, `have a name and a version of at most ${NAME_LENGTH} characters`);
  const targets = installTargets ?? projects;
  const isList = Array.isArray(targets) && targets.every(isName);
  const its = installTargets === undefined && projects !== undefined ? 'projects' : 'installTargets';
  check(its, targets, isList, `be a list of names of at most ${NAME_LENGTH} characters`);
  // `parseJson` reads it as text, to keep its digits.
  check('owner', owner, typeof owner === 'string', 'be the id of a user');
  check('name', name, typeof name === 'string', 'be text');
  for (const list of LISTS) check(list, document[list], isObjects(document[list] ?? []), 'be a list of objects');
  for (const object of OBJECTS) check(object, document[object], isObject(document[object] ?? {}), 'be an object');
  if (isObject(revisionHistory)) {
    const { originalId, revisions, revisionHistory: inner } = revisionHistory;
    const must = `have an 'originalId' of at most ${NAME_LENGTH} characters, and a list of objects`;
    check('revisionHistory', revisionHistory, isName(originalId ?? '') && isObjects(inner ?? revisions ?? []), must);
  }
}

const isName = (name: unknown): boolean => typeof name === 'string' && name.length <= NAME_LENGTH;
const isObjects = (list: unknown): boolean => Array.isArray(list) && list.every(isObject);
