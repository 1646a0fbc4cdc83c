export { git, GitError } from './git/git.ts';
export type { Checkout, Repository } from './checkout.ts';
export {
  findRepository,
  type FoundRepository,
  type RepositorySearch,
  type RepositoryTraits,
} from './repository.ts';
export { realPathOf } from './repository/paths.ts';
export { INCLUDE_FILE, readInclude } from './repository/include.ts';
export { createCheckout, type CheckoutSpec, type CreatedCheckout } from './creation/create.ts';
export { findCheckout, listCheckouts, openCheckout, type KnownCheckout } from './creation/record.ts';
export { fillPool, type FillSpec } from './creation/fill.ts';
export { findOrphans, sweep, type Orphan } from './creation/orphans.ts';
export { removeCheckout, type Removal } from './creation/remove.ts';
export { resolveStart, type Start } from './creation/start.ts';
export { WORKTREE_DEFAULTS, type Setup, type WorktreeSettings } from './creation/settings.ts';
export { setUpCheckout, type SettingUp, type SetupRunner } from './creation/setup.ts';
export { Boundary, BOUNDARY_DEFAULTS, type BoundaryOptions, type BoundarySettings } from './boundary.ts';
export { openSandbox, probeSandbox, type Sandbox, type SandboxOptions } from './sandbox/sandbox.ts';
export type { Confinement, Limits, Network } from './sandbox/confinement.ts';
export type { Ran, RunOptions } from './sandbox/process.ts';
export type { Probe } from './sandbox/probe.ts';
export type { Wrapped } from './sandbox/holding.ts';
export type { Measure, Totals } from './sandbox/totals.ts';
export { admitRepository, adoptHome, broughtBy, includeItem, homeMaker } from './trust/brought.ts';
export { Trust, type Grant, type TrustItem, type TrustOptions } from './trust/trust.ts';
export { examine, type ExamineOptions, type Finding } from './doctor/examine.ts';
export { formatDoctor } from './doctor/format.ts';
export { Forecaster } from './work/forecast.ts';
export { openDoor, type DoorOptions, type FileDoor } from './door/door.ts';
export type { FileContent } from './door/text.ts';
