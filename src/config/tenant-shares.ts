import { partsOf, type Tenant } from '../core/tenants.js';
import { shareText } from '../record/share-text.js';

type Shared = Pick<Tenant, 'name' | 'share'>;

/** More would fill the terminal. */
const MOST_NAMED = 12;

/**
 * `tenants: others 50 %, big 25 %, small 25 % of what GPUs can do under overload`; null without at least two shares.
 */
export function sharesLine(tenants: readonly Shared[]): string | null {
  if (tenants.length < 2) return null;
  const parts = partsOf(tenants);
  const named = tenants.slice(0, MOST_NAMED).map(({ name }, i) => `${name} ${shareText(parts[i]!)}`);
  const rest = tenants.length - named.length;
  const more = rest === 0 ? '' : `, and ${rest} more`;
  return `tenants: ${named.join(', ')}${more} of what GPUs can do under overload`;
}
