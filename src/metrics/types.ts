import type { AuditOutcome } from '../protocol/audit-messages.ts';
import type { AuthMethod, ControlAction } from '../protocol/constants.ts';

/** Calls by category. */
export interface CallMeasurements {
  /** Returns the calls of a category since the process started. */
  callsTotal(index: number): number;
  /** Returns the rate over the configured window, or over the process's uptime if shorter. */
  callsPerSecond(index: number): number;
}

/** Measurements for the discovery, status and metrics responses. The Prometheus scrape reads the same counters. */
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
