// The interface version that the configuration assumes for requests that name none.

import t from 'tap';
import { fetch } from 'undici';
import { ROOT_SCHEMA } from '../../../config/schema/root.ts';
import { compileCheck } from '../../../config/validate.ts';
import { API_VERSIONS } from '../../../engine/model/api-version.ts';
import { changed, completeDocument } from '../../config/complete-document.ts';
import { runningFrontEnd } from './running-front-end.ts';

t.test('the configuration takes each version there is, and refuses others', async (t) => {
  const check = compileCheck(ROOT_SCHEMA);
  const document = await completeDocument('embedded-form');
  const faultsOf = (version: unknown) =>
    check(changed(document, 'containerCore.http.assumedApiVersion', version), () => undefined);
  for (const good of API_VERSIONS) t.same(faultsOf(good), [], good);
  for (const bad of ['1.6.0', '1.7', 1.7, '', null]) t.ok(faultsOf(bad).length > 0, JSON.stringify(bad));
});

t.test('a front end takes the version from the configuration, and its documentation says so', async (t) => {
  for (const assumedApiVersion of API_VERSIONS) {
    const url = await runningFrontEnd(t, { assumedApiVersion });
    const response = await fetch(`${url}/api/openapi.json`);
    t.equal(response.headers.get('api-version'), assumedApiVersion);
    t.match(await response.text(), `"default":"${assumedApiVersion}"`);
  }
});
