// Access: the catalogue of what others publish, the inbox of those who decide, and what was decided.

import { access } from '../../api/session.ts';
import { Empty } from '../../components/notices.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { to, useRoute } from '../../shell/route.ts';
import { texts } from '../../texts.ts';
import { Catalogue } from './catalogue.tsx';
import { History } from './history.tsx';
import { Inbox } from './inbox.tsx';
import { Offers } from './offers.tsx';

const words = texts.access;
type Tab = keyof typeof words.tabs;
const TABS = Object.keys(words.tabs) as Tab[];

export default function AccessPage() {
  const { parts } = useRoute();
  const shown = TABS.find((tab) => tab === parts[0]) ?? 'catalogue';
  const service = access();
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <nav className="tabs" aria-label={words.title}>
        {TABS.map((tab) => (
          <a key={tab} href={to(`access/${tab}`)} aria-current={tab === shown ? 'page' : undefined}>
            {words.tabs[tab]}
          </a>
        ))}
      </nav>
      <div className="stack">
        {shown === 'catalogue' && <Catalogue service={service} />}
        {shown === 'inbox' && <Offers />}
        {shown === 'inbox' && service && <Inbox service={service} />}
        {shown === 'history' && service && <History service={service} />}
        {!service && <Empty icon="access" title={words.absent} advice={words.absentAdvice} />}
      </div>
    </>
  );
}
