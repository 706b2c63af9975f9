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
import { Button, CopyButton, Toggle } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Check, TextField } from '../parts/fields.tsx';
import { exactSpan } from '../parts/format.ts';
import { Notice } from '../parts/notice.tsx';
import { Time } from '../parts/time.tsx';
import {
  buttonText,
  type ChangeForm,
  commandOf,
  RequestIds,
  readDuration,
  receiptOf,
  undoOf,
} from '../state/change.ts';
import { isReset, needsApproval, VERBS } from '../state/intents.ts';
import { EVERYTHING, readPart as partOf, trimmed } from '../state/part.ts';
import type { Problem } from '../state/problem.ts';
import type { ChangeQuestion } from '../state/state.ts';
import { Forecast } from './forecast.tsx';
import { MatchFields, PartFields } from './part-fields.tsx';
import { TenantChoice } from './tenant-choice.tsx';

const PRESETS = [5 * 60, 15 * 60, 3600, 4 * 3600, 86_400];
const RECORDED_PRESETS = [3600, 86_400, RECORDING_SECONDS];
const PROPOSED = '15m';
/** Failures are rare: they are waited for. */
const PROPOSED_LONG = '1d';
const OTHER_TIME = 'other';
const NO_END = 'none';
/** The common cases of whose lines are meant. */
const CASES = [
  ['all', 'Everybody'],
  ['some', 'One user or request'],
  ['failures', 'Only failures'],
] as const;

/** Asks for whom, how long and why, offers a forecast, and sends the change. */
export function SwitchDialog({ asked: { intent, categories, ...proposed } }: { readonly asked: ChangeQuestion }) {
  const [record, setRecord] = useState(false);
  const maxSeconds = connection.maxSeconds({ record });
  const [tenant, setTenant] = useState(proposed.tenant);
  const atMost = (time: string) => ((parseDuration(time) ?? 0) <= maxSeconds ? time : formatDuration(maxSeconds));
  const [time, setTime] = useState(atMost(proposed.part?.failed ? PROPOSED_LONG : PROPOSED));
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [limit, setLimit] = useState<Limits>({});
  const [part, setPart] = useState(proposed.part ?? EVERYTHING);
  const [isSome, setSome] = useState(false);
  const [ticket, setTicket] = useState<RequestTicket | undefined>();
  const [sure, setSure] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const [checked, setChecked] = useState(false);
  const requestIds = useRef(new RequestIds());
  const close = () => {
    state.asked.value = undefined;
  };
  const which = part.failed ? 'failures' : isSome || part.request || part.match.length > 0 ? 'some' : 'all';
  const choose = (chosen: typeof which) => {
    setSome(chosen === 'some');
    setPart({ ...part, failed: chosen === 'failures', ...(chosen !== 'some' && { match: [], request: false }) });
    setTime(atMost(chosen === 'failures' ? PROPOSED_LONG : PROPOSED));
  };

  const timed = !isReset(intent);
  const noEnd = timed && time === NO_END;
  const readPart = partOf(part);
  const read = readDuration(time === OTHER_TIME ? typed : time, maxSeconds);
  const budget = budgetOf(limit);
  const whom = tenant === undefined ? everybodyOf() : `for ${tenant}`;
  const form: ChangeForm = {
    intent,
    categories,
    seconds: timed && !noEnd && typeof read === 'number' ? read : undefined,
    reason,
    budget: typeof budget === 'string' ? undefined : budget,
    part: typeof readPart === 'string' ? {} : readPart,
    record,
  };
  const chosen = form.part ?? {};
  const waits = (chosen.when ?? chosen.target?.request) !== undefined;
  const wrongTime = noEnd
    ? Object.keys(chosen).length > 0 && !record && 'For some work or lines it always ends: choose a time'
    : timed && typeof read === 'string' && read;
  const wrongPart =
    (typeof readPart === 'string' && readPart) ||
    (record && waits && 'What is recorded cannot be for one request, or for failed or slow work') ||
    (isSome && chosen.target === undefined && 'Name the work, such as user.id=42, or choose everybody');
  const wrong = {
    time: wrongTime || undefined,
    part: wrongPart || undefined,
    limit: typeof budget === 'string' ? budget : undefined,
  };
  const button = buttonText(form, { tenant, everybody: everybodyOf(), noEnd });
  const asksFirst = needsApproval(form, connection.session ?? {});

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setChecked(true);
    if (busy || Object.values(wrong).some((text) => text !== undefined)) return;
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
        part,
        ...(undo && { undo: () => connection.make(undo, tenant) }),
      });
    } catch (error) {
      setBusy(false);
      if (connection.showWaiting(error)) close();
      else setProblem(connection.problemOf(error));
    }
  }

  if (ticket !== undefined) return <Ticket ticket={ticket} onClose={close} />;
  const expired = state.stage.value === 'expired';
  return (
    <Dialog
      title={
        <>
          {record ? 'Record' : VERBS[intent]} <span class="name">{nameSome(categories, { most: 3 })}</span>
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
          <>
            <fieldset class="field">
              <legend>Whose lines</legend>
              <div class="bar">
                {CASES.map(([each, text]) => (
                  <Toggle key={each} pressed={each === which} onPress={() => choose(each)}>
                    {text}
                  </Toggle>
                ))}
              </div>
            </fieldset>
            {isSome && (
              <div class="limit-fields">
                <MatchFields value={part} onChange={setPart} offersRequest hasFocus />
              </div>
            )}
          </>
        )}
        {timed && !sure && (
          <TimeChoice
            presets={record ? RECORDED_PRESETS : PRESETS}
            offersNoEnd={record ? connection.can('admin') : connection.mayBePermanent}
            time={time}
            typed={typed}
            maxSeconds={maxSeconds}
            seconds={form.seconds}
            wrong={checked || typed !== '' ? wrong.time : undefined}
            onTime={setTime}
            onTyped={setTyped}
          />
        )}
        {sure && (
          <p class="notice warning">
            <strong>Permanent.</strong> {counted(categories.length, 'category', 'categories')} will be{' '}
            {record ? 'recorded' : intent === 'disable' ? 'off' : 'on'} {whom} until switched again.
          </p>
        )}
        <TextField
          label={
            <>
              Reason <span class="muted">for the audit trail</span>
            </>
          }
          value={reason}
          placeholder={timed ? 'slow checkout' : 'found it'}
          input={{ maxLength: MAX_REASON_LENGTH, autofocus: true }}
          onText={setReason}
        />
        {intent === 'enable' && !sure && (
          <Check
            label="Only record: lines are kept in memory, and none is written"
            checked={record}
            onCheck={() => {
              setRecord(!record);
              setTime(record ? atMost(PROPOSED) : PROPOSED_LONG);
            }}
          />
        )}
        {timed && intent !== 'disable' && !noEnd && !record && (
          <LimitChoice limit={limit} wrong={wrong.limit} onLimit={setLimit} />
        )}
        {intent === 'enable' && (
          <PartFields
            value={part}
            onChange={setPart}
            wrong={checked ? wrong.part : undefined}
            offersRequest
            withoutMatch={isSome}
          />
        )}
        {(intent === 'enable' || intent === 'toggle') && !record && connection.mayMeasure(categories) && (
          <Forecast categories={categories} tenant={tenant} part={readPart} />
        )}
        {problem && !(expired && problem.status === 401) && <Notice problem={problem} />}
        {problem?.status === 401 && !expired && <p class="muted">You are signed in again. Nothing was changed yet.</p>}
        {asksFirst && <p class="muted">This goes beyond your credential: another user has to approve it.</p>}
        <div class="bar">
          <Button type="submit" kind={!timed || intent === 'disable' ? 'danger' : 'primary'} busy={busy}>
            {busy
              ? 'Sending …'
              : sure
                ? `Yes, ${button.charAt(0).toLowerCase()}${button.slice(1, -' …'.length)}`
                : `${asksFirst ? 'Send for approval: ' : ''}${button}`}
          </Button>
          <Button onClick={() => (sure ? setSure(false) : close())}>{sure ? 'Back' : 'Cancel'}</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The header that one request has to carry, and until when it works. */
function Ticket({ ticket, onClose }: { readonly ticket: RequestTicket; readonly onClose: () => void }) {
  const header = `baggage: ${ticket.baggage}`;
  return (
    <Dialog title="Header for the request" onClose={onClose}>
      <div class="switch">
        <p>
          A request with this header gets the lines, in every service that it passes, until{' '}
          <Time at={ticket.expiresAt} />. Keep it like a password.
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
  const choices = [
    ...presets.map((preset) => [preset, exactSpan(parseDuration(preset) ?? 0)] as const),
    [OTHER_TIME, 'Other'] as const,
    ...(offered.offersNoEnd ? [[NO_END, 'Permanent'] as const] : []),
  ];
  return (
    <>
      <fieldset class="field">
        <legend>For how long</legend>
        <div class="bar">
          {choices.map(([value, text]) => (
            <label class="choice" key={value}>
              <input type="radio" name="time" checked={time === value} value={value} onChange={() => onTime(value)} />
              <span>{text}</span>
            </label>
          ))}
        </div>
      </fieldset>
      {time === OTHER_TIME && (
        <input
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
          (time === NO_END
            ? 'Stays until it is switched again.'
            : seconds !== undefined && `Goes back by itself at ${clockTime(now.value + seconds * 1000)}.`)}
      </p>
    </>
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
          <TextField
            key={name}
            label={page[0]}
            title={help}
            placeholder={page[1]}
            value={limit[name] ?? ''}
            input={{ inputMode: 'numeric', 'aria-invalid': wrong !== undefined }}
            onText={(text) => onLimit({ ...limit, [name]: text })}
          />
        ))}
      </div>
      <p class={wrong === undefined ? 'muted' : 'wrong'}>
        {wrong ?? 'Of each process. It ends when its lines or bytes are used up.'}
      </p>
    </details>
  );
}
