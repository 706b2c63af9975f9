import { type ControlAction, isQuiet, LEVELS, type Level } from './constants.ts';
import type { ControlBudget } from './messages.ts';
import type { ControlTarget, LineFilter, When } from './target.ts';

/** One category or several. */
export type CategorySelection = string | readonly string[];

/** How a change is made. Options named `otelrdcp_…` are additions of this implementation. */
export interface ControlOptions {
  /** Whether the change expires. @default true if `duration` is set */
  readonly temporary?: boolean | undefined;
  /** Seconds, or `<n>s|m|h|d`. @default the server's default, for a temporary change */
  readonly duration?: number | string | undefined;
  /** Reason for the audit trail, 1 to 500 characters. */
  readonly reason?: string | undefined;
  /**
   * Limits what each category emits in a process. The change is temporary, and ends early when `calls` or `bytes` are used up.
   * More calls per second than configured, or `false` (no limit), need the scope `admin`. @default the configured budget
   */
  readonly otelrdcp_budget?: ControlBudget | false | undefined;
  /**
   * Whose work it is for: an `enable` with it makes an activation, `otelrdcp_activation` of the response, and leaves the
   * settings of the categories. @default all work
   */
  readonly otelrdcp_target?: ControlTarget | undefined;
  /** The lines that it is for; an activation, as with a target. @default all lines */
  readonly otelrdcp_filter?: LineFilter | undefined;
  /** Records the lines of each piece of work, and writes those of work that ends so; an activation. @default lines are written at once */
  readonly otelrdcp_when?: When | undefined;
  /** Keeps the calls in memory for who asks for the past, and writes nothing; an activation. @default lines are written */
  readonly otelrdcp_record?: true | undefined;
  /** With `otelrdcp_record`: until somebody ends it. Needs the scope `admin`. @default for a while */
  readonly otelrdcp_permanent?: true | undefined;
  /**
   * For `enable`: the least urgent level that loggers with levels write: `silly`, `trace`, `debug`, `info`. `warn` and `error`
   * quieten them instead, for a while: what is less urgent is not written, and nothing more is. @default every line
   */
  readonly otelrdcp_level?: Level | undefined;
  /**
   * On `enable`: switches nothing. The response has a signed document of the control, `otelrdcp_document`, for processes that
   * follow one (`pull`), whose categories need not be known here. Needs `security.tokens`. @default the control is made
   */
  readonly otelrdcp_sign?: true | undefined;
  /** On `disable` and `reset`: ends this activation alone. @default all that there is */
  readonly otelrdcp_id?: string | undefined;
  /** Only asks what would change: the response has the changes, nothing is changed and nothing is audited. @default false */
  readonly otelrdcp_dryRun?: boolean | undefined;
  /** For `reset`: ends what is on or off for a while, and leaves permanent settings. @default every setting is removed */
  readonly otelrdcp_only?: 'temporary' | undefined;
}

/** The body of a control request (RDCP 1.0, POST /rdcp/v1/control). */
export interface ControlCommand {
  /** Kind of the change. */
  readonly action: ControlAction;
  /** May be omitted for `reset` and `status`, to select every category. */
  readonly categories?: CategorySelection | undefined;
  /** Duration, reason and limits. @default none */
  readonly options?: ControlOptions | undefined;
}

/** What holds of an option beside its own value. */
interface OptionRule {
  readonly option: keyof ControlOptions;
  /** A member of the option. @default the option itself */
  readonly member?: string;
  /** It holds for these values of the option. @default every value */
  readonly values?: readonly unknown[];
  /** The actions that have the option. @default every action */
  readonly actions?: readonly ControlAction[];
  /** The problem beside `temporary: false`. Without `temporary`, the option makes a control temporary. */
  readonly lasting?: string;
  readonly needs?: keyof ControlOptions;
  readonly excludes?: readonly (keyof ControlOptions)[];
  /** The problem beside one of them. @default that they cannot be combined */
  readonly otherwise?: string;
}

export const QUIET_LEVELS = LEVELS.filter(isQuiet);
export const LETTING_LEVELS = LEVELS.filter((level) => !isQuiet(level));

const LASTING = 'needs a temporary control';
const PARTS = ['otelrdcp_target', 'otelrdcp_filter', 'otelrdcp_when', 'otelrdcp_record', 'otelrdcp_sign'] as const;
const NOT_RECORDED = ['otelrdcp_when', 'otelrdcp_budget', 'otelrdcp_sign'] as const;

/** The rules of a control request's options. Its schema, its JSON Schema, the control plane and the command read them here. */
export const OPTION_RULES: readonly OptionRule[] = [
  { option: 'temporary', values: [true], actions: ['enable', 'disable', 'toggle'] },
  { option: 'duration', actions: ['enable', 'disable', 'toggle'], lasting: 'contradicts temporary: false' },
  { option: 'otelrdcp_budget', actions: ['enable', 'toggle'], lasting: LASTING },
  { option: 'otelrdcp_only', actions: ['reset'] },
  { option: 'otelrdcp_id', actions: ['disable', 'reset'] },
  ...PARTS.map((option) => ({ option, actions: ['enable' as const], lasting: LASTING })),
  ...NOT_RECORDED.map((option) => ({ option, excludes: ['otelrdcp_record' as const] })),
  { option: 'otelrdcp_permanent', needs: 'otelrdcp_record' },
  { option: 'temporary', values: [true], excludes: ['otelrdcp_permanent'] },
  { option: 'duration', excludes: ['otelrdcp_permanent'] },
  { option: 'otelrdcp_sign', excludes: ['otelrdcp_dryRun'] },
  { option: 'otelrdcp_target', member: 'request', excludes: ['otelrdcp_sign', 'otelrdcp_record'] },
  { option: 'otelrdcp_level', actions: ['enable'] },
  ...QUIET_LEVELS.map((level) => ({
    option: 'otelrdcp_level' as const,
    values: [level],
    lasting: `${LASTING} for ${level}`,
    excludes: PARTS,
    otherwise: `must be one of ${LETTING_LEVELS.join(', ')} for a part of the work or of the lines, and for a document`,
  })),
];
