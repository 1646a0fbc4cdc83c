/** The connection of a process that outlived its engine is gone. */
export class ConnectionLost extends Error {}
