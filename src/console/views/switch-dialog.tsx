import { useRef, useState } from 'preact/hooks';
import { MAX_REASON_LENGTH } from '../../protocol/constants.ts';
import type { ControlBudget } from '../../protocol/messages.ts';
import { formatDuration, parseDuration } from '../../protocol/time.ts';
import { Button } from '../parts/button.tsx';
import { counted, someOf } from '../parts/counted.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Notice } from '../parts/notice.tsx';
import { exactSpan } from '../parts/spans.ts';
import { clockTime } from '../parts/times.ts';
import { type ChangeForm, commandOf, type Intent, isReset, receiptOf } from '../state/change.ts';
import type { Connection } from '../state/connection.ts';
import { readDuration } from '../state/durations.ts';
import type { Problem } from '../state/problem.ts';
import { RequestIds } from '../state/request-ids.ts';
import type { Asked } from '../state/state.ts';
import { useNow } from '../state/use-now.ts';
import { useStore } from '../state/use-store.ts';
import { Forecast } from './forecast.tsx';
import { TenantChoice } from './tenant-choice.tsx';

const PRESETS = [5 * 60, 15 * 60, 3600, 4 * 3600];
const PROPOSED = '15m';
const OTHER_TIME = 'other';
const NO_END = 'none';

const VERBS: Readonly<Record<Intent, string>> = {
  enable: 'Enable',
  prolong: 'Prolong',
  disable: 'Disable',
  toggle: 'Toggle',
  end: 'End now',
  reset: 'Reset',
};

interface SwitchDialogProps {
  readonly connection: Connection;
  readonly asked: Asked;
}

/** Asks for whom, how long and why, shows what it would write, and sends the change. */
export function SwitchDialog({ connection, asked: { intent, categories } }: SwitchDialogProps) {
  const maxSeconds = connection.maxSeconds;
  const [tenant, setTenant] = useState(connection.tenant);
  const [time, setTime] = useState(maxSeconds >= 900 ? PROPOSED : formatDuration(maxSeconds));
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [limit, setLimit] = useState<Limits>({});
  const [sure, setSure] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const [checked, setChecked] = useState(false);
  const requestIds = useRef(new RequestIds());
  const expired = useStore(connection, ({ stage }) => stage === 'expired');

  const timed = !isReset(intent);
  const noEnd = timed && time === NO_END;
  const read = readDuration(time === OTHER_TIME ? typed : time, maxSeconds);
  const seconds = timed && !noEnd && typeof read === 'number' ? read : undefined;
  const wrongTime = timed && !noEnd && typeof read === 'string' ? read : undefined;
  const budget = budgetOf(limit);
  const wrongLimit = budget === 'wrong' ? 'Limits are whole numbers from 1' : undefined;
  const whom = tenant === undefined ? everybodyOf(connection) : `for ${tenant}`;
  const verb = VERBS[intent];
  const form: ChangeForm = { intent, categories, seconds, reason, budget: budget === 'wrong' ? undefined : budget };

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setChecked(true);
    if (busy || wrongTime !== undefined || wrongLimit !== undefined) return;
    if (noEnd && !sure) {
      setSure(true);
      return;
    }
    const command = commandOf(form);
    const requestId = requestIds.current.of(JSON.stringify([command, tenant]));
    setBusy(true);
    setProblem(undefined);
    try {
      const answer = await connection.change(command, tenant, requestId);
      connection.askNothing();
      connection.showReceipt(receiptOf(answer, whom, (id) => connection.processName(id)));
    } catch (error) {
      setProblem(connection.problemOf(error));
      setBusy(false);
    }
  }

  return (
    <Dialog
      title={
        <>
          {verb} <Names categories={categories} />
        </>
      }
      onClose={() => connection.askNothing()}
    >
      <form class="switch" onSubmit={(event) => void submit(event)} noValidate>
        {connection.choosesTenants && (
          <div class="field">
            <span aria-hidden="true">For whom</span>
            <TenantChoice connection={connection} label="For whom" value={tenant} onChoose={setTenant} />
          </div>
        )}
        {timed && !sure && (
          <TimeChoice
            time={time}
            typed={typed}
            maxSeconds={maxSeconds}
            seconds={seconds}
            wrong={checked || typed !== '' ? wrongTime : undefined}
            onTime={setTime}
            onTyped={setTyped}
          />
        )}
        {sure && (
          <p class="notice warning">
            <strong>Permanent.</strong> {counted(categories.length, 'category', 'categories')}{' '}
            {intent === 'disable' ? 'stays off' : 'stays on'} {whom} until somebody switches it again.
          </p>
        )}
        <label class="field">
          <span>
            Reason <span class="muted">for the audit trail</span>
          </span>
          <input
            value={reason}
            maxLength={MAX_REASON_LENGTH}
            placeholder={timed ? 'slow checkout' : 'found it'}
            autofocus
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
        {timed && intent !== 'disable' && !noEnd && <LimitChoice limit={limit} wrong={wrongLimit} onLimit={setLimit} />}
        {(intent === 'enable' || intent === 'toggle') && (
          <Forecast connection={connection} categories={categories} tenant={tenant} />
        )}
        {problem && !(expired && problem.kind === 'unauthenticated') && <Notice problem={problem} />}
        {problem?.kind === 'unauthenticated' && !expired && (
          <p class="muted">You are signed in again. Nothing was changed yet.</p>
        )}
        <div class="bar">
          <Button type="submit" kind={!timed || intent === 'disable' ? 'danger' : 'primary'} busy={busy}>
            {busy
              ? 'Sending …'
              : sure
                ? `Yes, ${verb.toLowerCase()} permanently`
                : buttonText(verb, whom, noEnd, seconds)}
          </Button>
          <Button onClick={() => (sure ? setSure(false) : connection.askNothing())}>{sure ? 'Back' : 'Cancel'}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function buttonText(verb: string, whom: string, noEnd: boolean, seconds: number | undefined): string {
  if (noEnd) return `${verb} permanently …`;
  return `${verb}${whom && ' '}${whom}${seconds === undefined ? '' : ` for ${exactSpan(seconds)}`}`;
}

/** Without tenants there is nobody to name. */
function everybodyOf({ session, hasTenants }: Connection): string {
  const own = session?.tenant?.id;
  if (!hasTenants) return '';
  return own === undefined || own === 'global' ? 'for everybody' : `for ${own}`;
}

function Names({ categories }: { readonly categories: readonly string[] }) {
  return <span class="name">{someOf(categories)}</span>;
}

interface TimeChoiceProps {
  readonly time: string;
  readonly typed: string;
  readonly maxSeconds: number;
  readonly seconds: number | undefined;
  readonly wrong: string | undefined;
  readonly onTime: (time: string) => void;
  readonly onTyped: (text: string) => void;
}

function TimeChoice({ time, typed, maxSeconds, seconds, wrong, onTime, onTyped }: TimeChoiceProps) {
  const now = useNow();
  const presets = PRESETS.filter((preset) => preset <= maxSeconds).map(formatDuration);
  if (time !== OTHER_TIME && time !== NO_END && !presets.includes(time)) presets.push(time);
  const choice = (value: string, text: string) => (
    <label class="choice" key={value}>
      <input type="radio" name="time" value={value} checked={time === value} onChange={() => onTime(value)} />
      <span>{text}</span>
    </label>
  );
  return (
    <fieldset class="field">
      <legend>For how long</legend>
      <div class="bar">
        {presets.map((preset) => choice(preset, exactSpan(parseDuration(preset) ?? 0)))}
        {choice(OTHER_TIME, 'Other')}
        {choice(NO_END, 'Permanent')}
      </div>
      {time === OTHER_TIME && (
        <input
          class="time-text"
          aria-label="Time"
          aria-invalid={wrong !== undefined}
          aria-describedby="time-help"
          placeholder={`such as 45m, at most ${exactSpan(maxSeconds)}`}
          value={typed}
          onInput={({ currentTarget }) => onTyped(currentTarget.value)}
        />
      )}
      <p id="time-help" class={wrong === undefined ? 'muted' : 'wrong'}>
        {wrong ??
          (seconds === undefined
            ? 'Stays until somebody switches it again.'
            : `Goes back by itself at ${clockTime(new Date(now + seconds * 1000))}.`)}
      </p>
    </fieldset>
  );
}

type Limits = Readonly<Partial<Record<keyof ControlBudget, string>>>;

const LIMITS: readonly (readonly [keyof ControlBudget, string])[] = [
  ['callsPerSecond', 'Lines a second'],
  ['calls', 'Lines in all'],
  ['bytes', 'Bytes in all'],
];

function budgetOf(limits: Limits): ControlBudget | undefined | 'wrong' {
  const given = Object.entries(limits).filter(([, text]) => text.trim() !== '');
  if (given.length === 0) return undefined;
  if (given.some(([, text]) => !/^[1-9]\d{0,8}$/.test(text.trim()))) return 'wrong';
  return Object.fromEntries(given.map(([name, text]) => [name, Number(text)]));
}

interface LimitChoiceProps {
  readonly limit: Limits;
  readonly wrong: string | undefined;
  readonly onLimit: (limit: Limits) => void;
}

function LimitChoice({ limit, wrong, onLimit }: LimitChoiceProps) {
  return (
    <details class="limits">
      <summary>Limit what it may write</summary>
      <div class="limit-fields">
        {LIMITS.map(([name, label]) => (
          <label class="field" key={name}>
            <span>{label}</span>
            <input
              inputMode="numeric"
              placeholder="as configured"
              value={limit[name] ?? ''}
              aria-invalid={wrong !== undefined}
              onInput={({ currentTarget }) => onLimit({ ...limit, [name]: currentTarget.value })}
            />
          </label>
        ))}
      </div>
      <p class={wrong === undefined ? 'muted' : 'wrong'}>
        {wrong ?? 'Of each process. It ends when its lines or bytes are used up.'}
      </p>
    </details>
  );
}
