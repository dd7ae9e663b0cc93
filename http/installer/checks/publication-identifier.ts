// The two forms of a publication identifier. `pmid:` and `doi:` in front are allowed; they choose the type when it is
// not given, and are not stored.

import type { Publication } from '../../../engine/model/metadata.ts';
import { quote } from '../../input/describe.ts';

const FORMS = {
  pmid: { pattern: /^[0-9]+$/, words: 'a PubMed id is digits only' },
  doi: { pattern: /^10\.[^\s/]+\/\S+$/, words: "a DOI looks like '10.1000/182'" },
} as const;

export type PublicationIdentifier = Pick<Publication, 'identifier' | 'type'>;

/** The identifier as it is stored, or the sentence that says what is wrong with it. */
export function readPublicationIdentifier(publication: {
  readonly identifier: string;
  readonly type?: Publication['type'] | undefined;
}): PublicationIdentifier | { readonly fault: string } {
  const [, prefix, identifier = ''] = /^(?:(pmid|doi):\s*)?(.*)$/is.exec(publication.identifier) ?? [];
  const named = prefix?.toLowerCase() as Publication['type'] | undefined;
  const type = publication.type ?? named ?? 'pmid';
  if (named !== undefined && named !== type)
    return { fault: `is ${quote(publication.identifier)}, but the type is '${type}'` };
  if (FORMS[type].pattern.test(identifier)) return { identifier, type };
  const hint = type === 'pmid' && FORMS.doi.pattern.test(identifier) ? " (give it the type 'doi')" : '';
  return { fault: `is ${quote(publication.identifier)}; ${FORMS[type].words}${hint}` };
}
