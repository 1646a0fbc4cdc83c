export { connect, type ConnectOptions } from './connect.ts';
export { daemonStatus, stopDaemon, type DaemonStatus, type SupervisionStatus } from './control.ts';
export { ownFolders, placeOf, type Place } from '../place/folder.ts';
export { PROGRAM as DAEMON_PROGRAM } from '../program.ts';
export { processIdentity } from '../place/process-identity.ts';
export { inWords } from '../place/trouble.ts';
