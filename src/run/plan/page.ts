import { documentPage } from '../../report/html/document-page.js';
import { drawCharts } from '../../report/html/page.js';
import { planCharts } from './charts.js';
import type { Plan } from './plan-result.js';
import { planDocument } from './text.js';

/** A plan as one HTML document; `cells` as for `planDocument`. */
export async function planPage(plan: Plan, cells: string | null = null): Promise<string> {
  return documentPage(planDocument(plan, cells), await drawCharts(planCharts(plan)));
}
