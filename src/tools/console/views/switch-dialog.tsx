import { useRef, useState } from 'preact/hooks';
import { MAX_REASON_LENGTH, RECORDING_SECONDS } from '../../../wire/constants.ts';
import type { ControlBudget, RequestTicket } from '../../../wire/messages.ts';
import { nameSome } from '../../../wire/printable.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import { formatDuration, parseDuration } from '../../../wire/time.ts';
import { counted } from '../../../wire/words/count.ts';
import { clockTime } from '../../../wire/words/time.ts';
import { FIELDS, type Field, FieldError, readFields } from '../../client/fields.ts';
import { connection, now, state } from '../page.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { exactSpan } from '../parts/format.ts';
import { Notice } from '../parts/notice.tsx';
import { Time } from '../parts/time.tsx';
import { type ChangeForm, commandOf, RequestIds, readDuration, receiptOf, undoOf } from '../state/change.ts';
import { type Intent, isReset } from '../state/intents.ts';
import { EVERYTHING, readPart as partOf, trimmed } from '../state/part.ts';
import type { Problem } from '../state/problem.ts';
import type { Asked } from '../state/state.ts';
import { Forecast } from './forecast.tsx';
import { PartFields } from './part-fields.tsx';
import { TenantChoice } from './tenant-choice.tsx';

const PRESETS = [5 * 60, 15 * 60, 3600, 4 * 3600];
const RECORDED_PRESETS = [3600, 86_400, RECORDING_SECONDS];
const PROPOSED = '15m';
const OTHER_TIME = 'other';
const NO_END = 'none';

const VERBS: Readonly<Record<Intent, string>> = {
  enable: 'Enable',
  extend: 'Extend',
  disable: 'Disable',
  toggle: 'Toggle',
  end: 'End now',
  reset: 'Reset',
};

/** Asks for whom, how long and why, offers a forecast, and sends the change. */
export function SwitchDialog({ asked: { intent, categories, tenant: proposed } }: { readonly asked: Asked }) {
  const [record, setRecord] = useState(false);
  const maxSeconds = record ? connection.maxRecordedSeconds : connection.maxSeconds;
  const [tenant, setTenant] = useState(proposed);
  const [time, setTime] = useState(maxSeconds >= 900 ? PROPOSED : formatDuration(maxSeconds));
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [limit, setLimit] = useState<Limits>({});
  const [part, setPart] = useState(EVERYTHING);
  const [ticket, setTicket] = useState<RequestTicket | undefined>();
  const [sure, setSure] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const [checked, setChecked] = useState(false);
  const close = () => {
    state.asked.value = undefined;
  };
  const requestIds = useRef(new RequestIds());
  const expired = state.stage.value === 'expired';

  const timed = !isReset(intent);
  const readPart = partOf(part);
  const waits = typeof readPart === 'object' && (readPart.when ?? readPart.target?.request) !== undefined;
  const wrongPart =
    record && waits
      ? 'What is recorded cannot be for one request, or for failed or slow work'
      : typeof readPart === 'string'
        ? readPart
        : undefined;
  const isPart = typeof readPart === 'object' && Object.keys(readPart).length > 0;
  const noEnd = timed && time === NO_END;
  const read = readDuration(time === OTHER_TIME ? typed : time, maxSeconds);
  const seconds = timed && !noEnd && typeof read === 'number' ? read : undefined;
  const wrongTime = !timed
    ? undefined
    : noEnd && isPart && !record
      ? 'For some work or lines alone it always ends: choose a time'
      : !noEnd && typeof read === 'string'
        ? read
        : undefined;
  const budget = budgetOf(limit);
  const wrongLimit = typeof budget === 'string' ? budget : undefined;
  const whom = tenant === undefined ? everybodyOf() : `for ${tenant}`;
  const verb = record ? 'Record' : VERBS[intent];
  const form: ChangeForm = {
    intent,
    categories,
    seconds,
    reason,
    budget: typeof budget === 'string' ? undefined : budget,
    ...(typeof readPart === 'object' && { part: readPart }),
    record,
  };

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setChecked(true);
    if (busy || wrongTime !== undefined || wrongLimit !== undefined || wrongPart !== undefined) return;
    if (noEnd && !sure) {
      setSure(true);
      return;
    }
    const command = commandOf(form);
    const requestId = requestIds.current.of(JSON.stringify([command, tenant]));
    const known = tenant === connection.tenant ? state.categories.value : undefined;
    const before = known && categories.flatMap((name) => known.get(name) ?? []);
    setBusy(true);
    setProblem(undefined);
    try {
      const answer = await connection.change(command, tenant, requestId);
      setTicket(answer.otelrdcp_request);
      if (answer.otelrdcp_request === undefined) close();
      const undo = undoOf(form, answer, before, Date.now());
      connection.showReceipt({
        ...receiptOf(answer, whom, (id) => connection.processName(id)),
        categories,
        ...(undo && { undo: () => connection.undo(undo, tenant) }),
      });
    } catch (error) {
      setProblem(connection.problemOf(error));
      setBusy(false);
    }
  }

  if (ticket !== undefined) return <Ticket ticket={ticket} onClose={close} />;
  return (
    <Dialog
      title={
        <>
          {verb} <span class="name">{nameSome(categories, { most: 3 })}</span>
        </>
      }
      onClose={close}
    >
      <form class="switch" onSubmit={(event) => void submit(event)} noValidate>
        {connection.choosesTenants && (
          <div class="field">
            <span aria-hidden="true">For whom</span>
            <TenantChoice label="For whom" value={tenant} onChoose={setTenant} />
          </div>
        )}
        {intent === 'enable' && !sure && (
          <label class="bar check">
            <input
              type="checkbox"
              checked={record}
              onChange={() => {
                setRecord(!record);
                setTime(!record ? '1d' : PROPOSED);
              }}
            />
            Only record: lines are kept in memory, and none is written
          </label>
        )}
        {timed && !sure && (
          <TimeChoice
            presets={record ? RECORDED_PRESETS : PRESETS}
            offersNoEnd={record ? connection.can('admin') : connection.mayBePermanent}
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
            {record ? 'is recorded' : intent === 'disable' ? 'stays off' : 'stays on'} {whom} until it is switched
            again.
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
        {timed && intent !== 'disable' && !noEnd && !record && (
          <LimitChoice limit={limit} wrong={wrongLimit} onLimit={setLimit} />
        )}
        {intent === 'enable' && (
          <PartFields value={part} onChange={setPart} wrong={checked ? wrongPart : undefined} offersRequest />
        )}
        {(intent === 'enable' || intent === 'toggle') && !record && (
          <Forecast categories={categories} tenant={tenant} part={readPart} />
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
          <Button onClick={() => (sure ? setSure(false) : close())}>{sure ? 'Back' : 'Cancel'}</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The header that one request has to carry, and until when it works. */
function Ticket({
  ticket: { baggage, expiresAt },
  onClose,
}: {
  readonly ticket: RequestTicket;
  readonly onClose: () => void;
}) {
  const header = `baggage: ${baggage}`;
  return (
    <Dialog title="Header for the request" onClose={onClose}>
      <div class="switch">
        <p>
          A request with this header gets the lines, in every service that it passes, until <Time at={expiresAt} />.
          Keep it like a password.
        </p>
        <code class="long-text">{header}</code>
        <div class="bar">
          <CopyButton label="Copy the header" text={() => header} />
          <CopyButton label="Copy for curl" text={() => shellWords('-H', header)} />
          <Button onClick={onClose}>Done</Button>
        </div>
      </div>
    </Dialog>
  );
}

function buttonText(verb: string, whom: string, noEnd: boolean, seconds: number | undefined): string {
  if (noEnd) return `${verb} permanently …`;
  return `${verb}${whom && ' '}${whom}${seconds === undefined ? '' : ` for ${exactSpan(seconds)}`}`;
}

/** Empty without tenants. */
function everybodyOf(): string {
  const own = connection.session?.tenant?.id;
  if (!connection.hasTenants) return '';
  return own === undefined || own === 'global' ? 'for everybody' : `for ${own}`;
}

interface TimeChoiceProps {
  /** In seconds. */
  readonly presets: readonly number[];
  readonly offersNoEnd: boolean;
  readonly time: string;
  readonly typed: string;
  readonly maxSeconds: number;
  readonly seconds: number | undefined;
  readonly wrong: string | undefined;
  readonly onTime: (time: string) => void;
  readonly onTyped: (text: string) => void;
}

function TimeChoice({ time, typed, maxSeconds, seconds, wrong, onTime, onTyped, ...offered }: TimeChoiceProps) {
  const presets = offered.presets.filter((preset) => preset <= maxSeconds).map(formatDuration);
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
        {offered.offersNoEnd && choice(NO_END, 'Permanent')}
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
            ? 'Stays until it is switched again.'
            : `Goes back by itself at ${clockTime(now.value + seconds * 1000)}.`)}
      </p>
    </fieldset>
  );
}

type Limits = Readonly<Partial<Record<keyof typeof FIELDS.limits, string>>>;

/** The budget, or what is wrong with it. */
function budgetOf(limits: Limits): ControlBudget | undefined | string {
  try {
    return readFields(trimmed(limits)).budget;
  } catch (error) {
    return error instanceof FieldError ? `Each limit ${error.message}` : String(error);
  }
}

interface LimitChoiceProps {
  readonly limit: Limits;
  readonly wrong: string | undefined;
  readonly onLimit: (limit: Limits) => void;
}

function LimitChoice({ limit, wrong, onLimit }: LimitChoiceProps) {
  return (
    <details class="limits">
      <summary>Limit its output</summary>
      <div class="limit-fields">
        {(Object.entries(FIELDS.limits) as [keyof Limits, Field][]).map(([name, { page, help }]) => (
          <label class="field" key={name} title={help}>
            <span>{page[0]}</span>
            <input
              inputMode="numeric"
              placeholder={page[1]}
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
