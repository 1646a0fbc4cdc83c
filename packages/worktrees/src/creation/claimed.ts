import type { Checkout } from '../checkout.ts';
import type { CheckoutName } from './names.ts';

/** What a checkout that is being made will be called. */
export interface Claim extends CheckoutName {
  readonly kind: Checkout['kind'];
  readonly start: string;
}
