import type { AuditOutcome } from '../../wire/audit-messages.ts';
import type { AuthMethod, ControlAction } from '../../wire/constants.ts';
import type { CountedInstances } from '../../wire/messages.ts';

/** Calls by category. */
export interface CallMeasurements {
  /** Returns the calls of a category since the process started. */
  callsTotal(index: number): number;
  /** Returns the rate over the configured window, or over the process's uptime if shorter. */
  callsPerSecond(index: number): number;
}

/** A category; without an index if this process does not have it. */
export interface Counted {
  readonly index?: number | undefined;
  readonly name: string;
}

/** Calls of a category. */
export interface CategoryCalls {
  readonly callsTotal: number;
  readonly callsPerSecond: number;
}

/** The calls of the other processes of the fleet. */
export interface CallsOfOthers {
  /** `undefined` for a category that none of them called. */
  of(category: string, tenantId?: string): OthersCalls | undefined;
  /** How many processes there are with this one, and whose calls are known. */
  instances(): CountedInstances;
}

export interface OthersCalls {
  readonly total: number;
  readonly rate: number;
  /** Calls that were counted while their process was known: a process that joins or leaves does not change it. */
  readonly seen: number;
}

/** Measurements for the answers: the calls of this process and of the others of its fleet. */
export interface SharedMeasurements extends Pick<Measurements, 'process'> {
  /** @param tenants counts the calls of these tenants alone */
  callsOf(category: Counted, tenants?: readonly string[]): CategoryCalls;
  /** The part of this process. */
  ownCallsOf(category: Counted, tenants?: readonly string[]): CategoryCalls;
  /** A counter whose difference between two moments is the calls between them, whatever processes joined meanwhile. */
  countedSoFar(category: Counted, tenants?: readonly string[]): number;
  /** Whose calls they are; `undefined` without a fleet. */
  instances(): CountedInstances | undefined;
}

/** Measurements of this process. The Prometheus scrape and the answers read the same counters. */
export interface Measurements extends CallMeasurements {
  /** Returns the measurements of a tenant's calls; zero if calls are not counted per tenant. */
  ofTenant(tenantId: string): CallMeasurements;
  /** Returns current values of the process. Values that the platform cannot measure are absent. */
  process(): {
    /** Percent of one core, over the window. */
    readonly cpuUsage?: number;
    /** Resident set, bytes. */
    readonly memoryUsage?: number;
    /** V8 heap in use, bytes. */
    readonly heapUsed?: number;
    /** 99th percentile of the event-loop delay, milliseconds. */
    readonly eventLoopDelay?: number;
  };
}

/** Counters of the endpoint. */
export interface ControlInstruments {
  /** `denied` for a request that was not allowed, `failed` for one that could not be carried out. */
  controlRequest(action: ControlAction, outcome: AuditOutcome, seconds: number): void;
  authFailure(method: AuthMethod | 'none', reason: string): void;
}
