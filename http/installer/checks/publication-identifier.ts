// The two forms of a publication identifier. `pmid:` and `doi:` in front are allowed, and so are the addresses that people
// paste (`https://doi.org/`, `https://pubmed.ncbi.nlm.nih.gov/`). They choose the type when it is not given, and are neither
// stored nor counted. A DOI is stored decoded: addresses write some of its characters as `%2F` or `%3C`.

import { hiddenCharacter } from '../../../engine/model/hidden-characters.ts';
import type { Publication } from '../../../engine/model/metadata.ts';
import { quote } from '../../kernel/input/describe.ts';

const FORMS = {
  pmid: { pattern: /^[0-9]+$/, words: 'a PubMed id is digits only' },
  doi: { pattern: /^10\.[^\s/]+\/\S+$/, words: "a DOI looks like '10.1000/182'" },
} as const;

const DOI_ADDRESS = /^(?:https?:\/\/)?(?:dx\.|www\.)?doi\.org\/(?:doi(?::|%3A)\s*)?/i;
const PREFIXES: readonly (readonly [Publication['type'], RegExp])[] = [
  ['pmid', /^pmid:\s*/i],
  ['doi', /^doi:\s*/i],
  ['doi', DOI_ADDRESS],
  [
    'pmid',
    /^(?:https?:\/\/)?(?:pubmed\.ncbi\.nlm\.nih\.gov|www\.ncbi\.nlm\.nih\.gov\/pubmed|europepmc\.org\/article\/med)\//i,
  ],
];

/** The identifier without what people write in front of it, and the type that this says. */
export function withoutPrefix(given: string): {
  readonly identifier: string;
  readonly named: Publication['type'] | undefined;
} {
  for (const [named, prefix] of PREFIXES) {
    const rest = given.replace(prefix, '');
    // The address of an article may end with a slash; a DOI may, too, but then it is a part of it.
    if (rest === given) continue;
    if (named === 'pmid') return { identifier: rest.replace(/\/$/, ''), named };
    return { identifier: prefix === DOI_ADDRESS ? decoded(rest) : decodedSlash(rest), named };
  }
  return { identifier: decodedSlash(given), named: undefined };
}

/** A DOI may hold a percent sign, but not without a slash: what has none is a part of an address. */
const decodedSlash = (text: string): string => (/^10\.[^/]*%2f/i.test(text) ? decoded(text) : text);

/** As it is where it is no encoding, or one of what nobody would see. */
function decoded(text: string): string {
  try {
    const read = decodeURIComponent(text);
    return hiddenCharacter(read) ? text : read;
  } catch {
    return text;
  }
}

export type PublicationIdentifier = Pick<Publication, 'identifier' | 'type'>;

/** The identifier as it is stored, or the sentence that says what is wrong with it. */
export function readPublicationIdentifier(publication: {
  readonly identifier: string;
  readonly type?: Publication['type'] | undefined;
}): PublicationIdentifier | { readonly fault: string } {
  const { identifier, named } = withoutPrefix(publication.identifier);
  const type = publication.type ?? named ?? 'pmid';
  if (named !== undefined && named !== type)
    return { fault: `is ${quote(publication.identifier)}, but the type is '${type}'` };
  if (FORMS[type].pattern.test(identifier)) return { identifier, type };
  const hint = type === 'pmid' && FORMS.doi.pattern.test(identifier) ? " (give it the type 'doi')" : '';
  return { fault: `is ${quote(publication.identifier)}; ${FORMS[type].words}${hint}` };
}
