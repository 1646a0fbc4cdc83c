/** Which of some numbers, in their order, is the last that is no more than another; -1: none is. */
export function lastUpTo(numbers: ArrayLike<number>, most: number): number {
  let low = -1;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((numbers[middle] ?? 0) <= most) low = middle;
    else high = middle - 1;
  }
  return low;
}
