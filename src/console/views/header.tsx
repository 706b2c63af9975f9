import { Button } from '../parts/button.tsx';
import { Fields } from '../parts/fields.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import type { Connection } from '../state/connection.ts';
import { href, type ViewName } from '../state/route.ts';
import { useStore } from '../state/use-store.ts';
import { TenantChoice } from './tenant-choice.tsx';

interface HeaderProps {
  readonly connection: Connection;
  readonly service: string;
  readonly entries: readonly (readonly [ViewName, string])[];
  readonly current: ViewName;
  readonly onHelp: () => void;
}

/** Which service this is, the views, whose settings are shown, the connection, and who is signed in. */
export function Header({ connection, service, entries, current, onHelp }: HeaderProps) {
  return (
    <header class="bar top">
      <span class="bar tight service">
        <img src="icon.svg" alt="" width="22" height="22" />
        <Text value={service} most={60} />
      </span>
      <nav class="bar" aria-label="Views">
        {entries.map(([view, title]) => (
          <a key={view} href={href(view)} aria-current={view === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <div class="bar tools">
        {connection.choosesTenants && <WhoseSettings connection={connection} />}
        {connection.can('discovery') && <LinkState connection={connection} />}
        <Button kind="quiet" aria-label="Keyboard shortcuts" onClick={onHelp}>
          ?
        </Button>
        <Account connection={connection} />
        <Button onClick={() => void connection.signOut()}>Sign out</Button>
      </div>
    </header>
  );
}

function WhoseSettings({ connection }: { readonly connection: Connection }) {
  const tenant = useStore(connection, (state) => state.tenant);
  return (
    <TenantChoice
      connection={connection}
      label="Tenant"
      value={tenant}
      onChoose={(chosen) => connection.chooseTenant(chosen)}
    />
  );
}

function LinkState({ connection }: { readonly connection: Connection }) {
  const { state } = useStore(connection, ({ link }) => link);
  const text = { live: 'Live', connecting: 'Connecting', paused: 'Paused', lost: 'No connection' }[state];
  return <span class={`bar tight link-state ${state}`}>{text}</span>;
}

function Account({ connection }: { readonly connection: Connection }) {
  const session = useStore(connection, (state) => state.session);
  if (session === undefined) return null;
  const { userId, method, scopes, tenantId, expiresAt } = session;
  return (
    <details class="menu" tabIndex={-1} onKeyDown={closeOnEscape} onFocusOut={closeOutside}>
      <summary>
        <span class="visually-hidden">Signed in as </span>
        <Text value={userId} most={40} /> <span class="muted">{scopes.join(', ')}</span>
      </summary>
      <div class="menu-body">
        <Fields
          of={{
            'Signed in as': <Text value={userId} />,
            With: method,
            Scopes: scopes.join(', '),
            Tenant: tenantId !== 'global' && tenantId,
            'Valid until': expiresAt && <Time at={expiresAt} />,
          }}
        />
      </div>
    </details>
  );
}

/** The menu itself takes the focus of a click inside it, so text in it can be selected. */
function closeOutside({ currentTarget: menu, relatedTarget }: FocusEvent): void {
  if (menu instanceof HTMLDetailsElement && !menu.contains(relatedTarget as Node | null)) menu.open = false;
}

function closeOnEscape(event: KeyboardEvent): void {
  const menu = event.currentTarget;
  if (event.key !== 'Escape' || !(menu instanceof HTMLDetailsElement)) return;
  menu.open = false;
  menu.querySelector('summary')?.focus();
}
