// Sign-in: at the issuer, as a sample user of a demo, by a one-time code in the address, or with a token.

import { type FormEvent, useState } from 'react';
import { leaveForIssuer } from '../../api/issuer.ts';
import { signIn, signInAsSample } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useStore } from '../../api/store.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Logo } from '../../components/icons.tsx';
import { wordsOf } from '../../components/notices.tsx';
import { tellProblem } from '../../components/toasts.tsx';
import { texts } from '../../texts.ts';

export function SignIn({ product }: { readonly product: string }) {
  const ways = useStore(settings)?.signIn;
  const [isBusy, setBusy] = useState(false);
  const doing = (work: Promise<void>): void => {
    setBusy(true);
    work.catch(tellProblem).finally(() => setBusy(false));
  };
  const { oidc, sampleUsers = [], code } = ways ?? {};
  return (
    <div className="sign-in">
      <Logo />
      <h1>{product}</h1>
      <p>{texts.signIn.lead}</p>
      {oidc && (
        <Button kind="primary" isDisabled={isBusy} onPress={() => doing(leaveForIssuer(oidc))}>
          {texts.signIn.withIssuer(new URL(oidc.issuer).hostname)}
        </Button>
      )}
      {sampleUsers.length > 0 && (
        <section className="card" aria-labelledby="samples">
          <h2 id="samples">{texts.signIn.sampleHeading}</h2>
          <ul>
            {sampleUsers.map(({ userId, name, about }) => (
              <li key={userId}>
                <Button isDisabled={isBusy} onPress={() => doing(signInAsSample(userId))}>
                  {texts.signIn.asSample(name)}
                </Button>
                <span className="hint">{about}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {code && <p className="hint">{texts.signIn.codeAdvice}</p>}
      <WithToken />
    </div>
  );
}

function WithToken() {
  const [token, setToken] = useState('');
  const [fault, setFault] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const given = token.trim();
    if (given === '') setFault(texts.signIn.tokenNeeded);
    else signIn({ token: given }).catch((error: unknown) => setFault(wordsOf(error).text));
  };
  return (
    <details className="card">
      <summary>{texts.signIn.tokenHeading}</summary>
      <form onSubmit={submit}>
        <TextField
          label={texts.signIn.token}
          hint={texts.signIn.tokenHint}
          type="password"
          autoComplete="off"
          value={token}
          onChange={setToken}
          faults={fault === undefined ? [] : [fault]}
        />
        <Button type="submit" kind="primary">
          {texts.signIn.withToken}
        </Button>
      </form>
    </details>
  );
}
