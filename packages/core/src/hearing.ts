import type { SessionId, Task } from '@reveille/protocol';

/**
 * Who is told of a task while it is under way: its owner. A reviewer's is told to whoever owns the reviewed task: the worker
 * whose work it is has nothing to say about it.
 */
export const whoHears = (task: Task): SessionId => task.reviews?.tells ?? task.owner;
