import type { Dashboard } from './node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type * as Stat from './node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type * as Series from './node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
import type * as Table from './node_modules/@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen';
import type * as Bars from './node_modules/@grafana/schema/dist/types/raw/composable/barchart/panelcfg/x/types.gen';

export interface Checked {
  dashboard: Dashboard;
  stat: Stat.Options;
  timeseries: Series.Options;
  timeseriesField: Series.FieldConfig;
  table: Table.Options;
  tableField: Table.FieldConfig;
  barchart: Bars.Options;
  barchartField: Bars.FieldConfig;
}
