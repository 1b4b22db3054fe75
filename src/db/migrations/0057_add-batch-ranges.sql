CREATE TABLE "batch_ranges" (
	"batch_id" text NOT NULL,
	"range" integer NOT NULL,
	"run" integer DEFAULT 0 NOT NULL,
	"lines" integer[] NOT NULL,
	CONSTRAINT "batch_ranges_batch_id_range_pk" PRIMARY KEY("batch_id","range")
);
