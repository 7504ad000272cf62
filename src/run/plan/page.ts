import { documentPage } from '../../report/html/document-page.js';
import { drawCharts } from '../../report/html/page.js';
import { planCharts } from './charts.js';
import type { Plan } from './plan-result.js';
import { planDocument } from './text.js';

/** A plan as one HTML document. */
export async function planPage(plan: Plan): Promise<string> {
  return documentPage(planDocument(plan), await drawCharts(planCharts(plan)));
}
