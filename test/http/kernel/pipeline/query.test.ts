import t from 'tap';
import { fetch } from 'undici';
import { httpApp, route } from '../../http-app.ts';

t.test('names that every object has are parameters like any other', async (t) => {
  const query = { limit: { description: '', schema: { type: 'integer' } } };
  const app = await httpApp(t, [
    route('/list', 'open', async (context) => context.json(200, context.query), { query }),
  ]);
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    const response = await fetch(`${app.url}/list?${name}=1`);
    t.equal(response.status, 400);
    t.match(await response.json(), { message: `query parameter '${name}' is unknown; known: limit` });
  }
});

t.test('a parameter that no database can look for is refused', async (t) => {
  const query = { name: { description: '', schema: { type: 'string' } } };
  const app = await httpApp(t, [
    route('/list', 'open', async (context) => context.json(200, context.query), { query }),
  ]);
  const response = await fetch(`${app.url}/list?name=a%00b`);
  t.equal(response.status, 400);
  t.match(await response.json(), { message: "query parameter 'name' holds the character U+0000" });
});
