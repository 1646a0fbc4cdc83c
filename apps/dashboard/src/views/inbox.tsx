import { Empty } from '../parts/pieces.tsx';
import { summary } from '../store/summary.ts';
import { RequestCard } from './requests.tsx';

/** More than anybody answers in one go; the rest comes as these go. */
const MOST = 25;

export function Inbox() {
  const { requests } = summary();
  return (
    <>
      <h1>
        Inbox <span class="count">{requests.length}</span>
      </h1>
      {requests.length === 0 ? (
        <Empty title="Nothing waits for you.">
          Questions, approvals, reviews and silent agents come here.
        </Empty>
      ) : (
        <>
          {requests.slice(0, MOST).map((request) => (
            <RequestCard key={request.id} request={request} />
          ))}
          {requests.length > MOST ? (
            <p class="quiet">
              {(requests.length - MOST).toLocaleString('en')} more come as these are answered.
            </p>
          ) : null}
        </>
      )}
    </>
  );
}
